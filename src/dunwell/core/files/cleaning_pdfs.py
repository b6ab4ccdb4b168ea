"""Writes PDFs anew without what acts: scripts, launched programs, embedded files, actions that send
or fetch. What a page shows stays as it is. It runs in the child process that `inspection`
keeps.

Dictionaries are gone over wherever they hang, so that nothing is missed that a reader would find
by another way; what only a removed entry led to is not written again. Pure.
"""

import contextlib
import io
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pikepdf

from dunwell.core.files.content_types import refuse

MAX_OBJECTS = 100_000
# Of all its streams together, unpacked; and of one picture.
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
MAX_PICTURE_PIXELS = 200_000_000
_CHUNK_BYTES = 1024 * 1024
_DEFLATE = ("/FlateDecode", "/Fl")
# Entries that act, or lead to what acts (ISO 32000-2: 7.11.4, 12.6, 12.7.9, 13).
_ACTING = (
    "/OpenAction", "/AA", "/JS", "/JavaScript", "/EmbeddedFiles", "/EF", "/AF", "/RF", "/XFA",
    "/RichMediaContent", "/RichMediaSettings", "/Collection", "/Rendition", "/Renditions", "/Movie",
    "/Sound", "/3DD", "/3DV", "/Launch", "/Win", "/Mac", "/Unix", "/OPI", "/PresSteps", "/Threads",
)  # fmt: skip
# Actions that do more than turn to a page of this document or open a link.
_ACTIONS = frozenset((
    "/JavaScript", "/Launch", "/GoToR", "/GoToE", "/SubmitForm", "/ImportData", "/ResetForm",
    "/Rendition", "/Movie", "/Sound", "/RichMediaExecute", "/GoTo3DView", "/Hide", "/SetOCGState",
    "/Named", "/Thread", "/Trans",
))  # fmt: skip
_LINK = re.compile(rb"(https?://|mailto:|tel:)", re.IGNORECASE)


def clean_pdf(pdf: pikepdf.Pdf) -> bytes:
    """The document, written anew. Raises UnsupportedMediaType for one that unpacks to too much."""
    if len(pdf.objects) > MAX_OBJECTS:
        raise refuse(f"The PDF has more than {MAX_OBJECTS:,} objects; print it to a new one.")
    unpacked = 0
    for part in _walk(pdf):
        _clean(part)
        if isinstance(part, pikepdf.Stream):
            unpacked += _count_unpacked(part, MAX_UNPACKED_BYTES - unpacked)
    out = io.BytesIO()
    # Neither encrypted any more nor changed by the hour: the same file gives the same bytes.
    pdf.save(
        out,
        deterministic_id=True,
        compress_streams=True,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        object_stream_mode=pikepdf.ObjectStreamMode.generate,
    )
    return out.getvalue()


def _walk(pdf: pikepdf.Pdf) -> Iterator[Any]:
    """Every dictionary and stream, those inside others too. Without recursion: they may be nested
    as deep as the parser allows."""
    waiting: list[Any] = [pdf.trailer, *pdf.objects]
    while waiting:
        part = waiting.pop()
        if isinstance(part, pikepdf.Dictionary | pikepdf.Stream):
            yield part
            values = [part[key] for key in part.keys()]  # noqa: SIM118 - no mapping of Python's
        elif isinstance(part, pikepdf.Array):
            values = list(part)
        else:
            continue
        waiting += [each for each in values if _holds_more(each)]


def _holds_more(value: Any) -> bool:
    """Whether it is a container of its own; what is referred to comes with the objects."""
    return isinstance(value, pikepdf.Dictionary | pikepdf.Array) and not value.is_indirect


def _clean(part: Any) -> None:
    if str(part.get("/S", "")) in _ACTIONS:
        for key in list(part.keys()):
            del part[key]
        return
    for key in _ACTING:
        if key in part:
            del part[key]
    link = part.get("/URI")
    if isinstance(link, pikepdf.String) and not _LINK.match(bytes(link)):
        del part["/URI"]
    if isinstance(part, pikepdf.Stream):
        # Content that lies in another file.
        for key in ("/F", "/FFilter", "/FDecodeParms", "/Ref"):
            if key in part:
                del part[key]
        _check_picture(part)


def _check_picture(stream: Any) -> None:
    width, height = stream.get("/Width", 0), stream.get("/Height", 0)
    if stream.get("/Subtype") == "/Image" and int(width) * int(height) > MAX_PICTURE_PIXELS:
        raise refuse(f"A picture in the PDF has more than {MAX_PICTURE_PIXELS:,} pixels.")


def _count_unpacked(stream: Any, most: int) -> int:
    """Bytes the stream unpacks to. Raises UnsupportedMediaType past `most`.

    Only Deflate packs a thousandfold; it can be applied to itself.
    """
    filters = stream.get("/Filter", [])
    names = (
        [str(each) for each in filters] if isinstance(filters, pikepdf.Array) else [str(filters)]
    )
    content, size = stream.read_raw_bytes(), 0
    for number, name in enumerate(names, start=1):
        if name not in _DEFLATE:
            break
        content, unpacked = _unpack(content, most - size, is_kept=number < len(names))
        size += unpacked
    return size


def _unpack(content: bytes, most: int, *, is_kept: bool) -> tuple[bytes, int]:
    """What it unpacks to, if that is kept, and how many bytes."""
    unpacker, size, kept = zlib.decompressobj(), 0, bytearray()
    # What follows the end is no part of it; readers show what came before a fault.
    with contextlib.suppress(zlib.error):
        while content and not unpacker.eof:
            chunk = unpacker.decompress(content, _CHUNK_BYTES)
            content = unpacker.unconsumed_tail
            size += len(chunk)
            if size > most:
                raise refuse("The PDF unpacks to too much; print it to a new one.")
            if is_kept:
                kept += chunk
    return bytes(kept), size
