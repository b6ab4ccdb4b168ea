"""Identify a file by its content and rewrite it: an image without its metadata, a PDF without its
active content (scripts, launch actions, embedded files). A PDF keeps its metadata. Runs in the
child process of `inspection`. Pure."""

import contextlib
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pikepdf
from PIL import Image

from dunwell.core.files.upload import JPEG, PDF, PNG, WEBP, build_file_refusal
from dunwell.platform.errors import UnsupportedMediaType

MAX_PIXELS = 60_000_000
# Images with more pixels are compressed less, so that they are written within the child's time
# limit.
_WELL_COMPRESSED_PIXELS = 8_000_000
_ORIENTATION = 0x0112
# The quality of a JPEG or WebP that is compressed again.
_QUALITY = 90


def clean_image(content: bytes, content_type: str) -> bytes:
    """Return the image's first frame, written again in the same format. Raises UnsupportedMediaType
    for too many pixels, and Pillow's exceptions."""
    name = {JPEG: "JPEG", PNG: "PNG", WEBP: "WEBP"}[content_type]
    out = io.BytesIO()
    with Image.open(io.BytesIO(content), formats=(name,)) as image:
        _check_pixels(image)
        image.load()
        options = _OPTION_BUILDERS[content_type](image, content)
        # Keeps the orientation, so that a photograph of a letter does not lie on its side.
        orientation = image.getexif().get(_ORIENTATION)
        if isinstance(orientation, int) and orientation in range(2, 9):
            options["exif"] = _build_orientation_exif(orientation)
        # A transparent colour is part of the pixels. Everything else is dropped.
        kept = {key: value for key, value in image.info.items() if key == "transparency"}
        image.info.clear()
        image.info.update(kept)
        image.save(out, name, **options)
    return out.getvalue()


def _check_pixels(image: Any) -> None:
    """Check the size before any pixel is decoded."""
    width, height = image.size
    frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    if width * height * frames > MAX_PIXELS:
        raise build_file_refusal(f"The image has more than {MAX_PIXELS:,} pixels; make it smaller.")


def _build_orientation_exif(orientation: int) -> Any:
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    return exif


def _build_jpeg_options(image: Any, _: bytes) -> dict[str, Any]:
    # Pillow reads a JPEG that contains a second image as the format MPO, for which "keep" is not
    # available.
    return {"quality": "keep" if image.format == "JPEG" else _QUALITY}


def _build_png_options(image: Any, _: bytes) -> dict[str, Any]:
    return {"compress_level": 6 if _is_small(image) else 1}


def _build_webp_options(image: Any, content: bytes) -> dict[str, Any]:
    is_lossless = content[12:16] == b"VP8L" and _is_small(image)
    return {"quality": _QUALITY, "lossless": is_lossless, "method": 2 if _is_small(image) else 0}


def _is_small(image: Any) -> bool:
    width, height = image.size
    return bool(width * height <= _WELL_COMPRESSED_PIXELS)


_OPTION_BUILDERS = {
    JPEG: _build_jpeg_options,
    PNG: _build_png_options,
    WEBP: _build_webp_options,
}


MAX_OBJECTS = 100_000
# The limits of the uncompressed size of all streams together, and of the size of one picture.
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
MAX_PICTURE_PIXELS = 200_000_000
_CHUNK_BYTES = 1024 * 1024
_DEFLATE = ("/FlateDecode", "/Fl")
# Entries with active content, or that lead to it (ISO 32000-2: 7.11.4, 12.6, 12.7.9, 13).
_ACTIVE_KEYS = (
    "/OpenAction", "/AA", "/JS", "/JavaScript", "/EmbeddedFiles", "/EF", "/AF", "/RF", "/XFA",
    "/RichMediaContent", "/RichMediaSettings", "/Collection", "/Rendition", "/Renditions", "/Movie",
    "/Sound", "/3DD", "/3DV", "/Launch", "/Win", "/Mac", "/Unix", "/OPI", "/PresSteps", "/Threads",
)  # fmt: skip
# Actions other than going to a page of this document or opening a link.
_ACTIONS = frozenset((
    "/JavaScript", "/Launch", "/GoToR", "/GoToE", "/SubmitForm", "/ImportData", "/ResetForm",
    "/Rendition", "/Movie", "/Sound", "/RichMediaExecute", "/GoTo3DView", "/Hide", "/SetOCGState",
    "/Named", "/Thread", "/Trans",
))  # fmt: skip
_LINK = re.compile(rb"(https?://|mailto:|tel:)", re.IGNORECASE)


def clean_pdf(pdf: pikepdf.Pdf) -> bytes:
    """Return the rewritten document. Raises UnsupportedMediaType for more than MAX_OBJECTS
    objects, a picture with more than MAX_PICTURE_PIXELS pixels, or streams that unpack to more than
    MAX_UNPACKED_BYTES."""
    if len(pdf.objects) > MAX_OBJECTS:
        raise build_file_refusal(
            f"The PDF has more than {MAX_OBJECTS:,} objects; print it to a new one."
        )
    unpacked = 0
    for part in _walk_objects(pdf):
        _clean_object(part)
        if isinstance(part, pikepdf.Stream):
            unpacked += _count_unpacked(part, MAX_UNPACKED_BYTES - unpacked)
    out = io.BytesIO()
    # The result is not encrypted, and the same file always gives the same bytes.
    pdf.save(
        out,
        deterministic_id=True,
        compress_streams=True,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        object_stream_mode=pikepdf.ObjectStreamMode.generate,
    )
    return out.getvalue()


def _walk_objects(pdf: pikepdf.Pdf) -> Iterator[Any]:
    """Yield every dictionary and stream, including nested ones. This function does not recurse,
    because values can be nested as deep as the parser allows."""
    waiting: list[Any] = [pdf.trailer, *pdf.objects]
    while waiting:
        part = waiting.pop()
        if isinstance(part, pikepdf.Dictionary | pikepdf.Stream):
            yield part
            values = [part[key] for key in part.keys()]  # noqa: SIM118 - pikepdf objects are not mappings
        elif isinstance(part, pikepdf.Array):
            values = list(part)
        else:
            continue
        waiting += [each for each in values if _is_direct_container(each)]


def _is_direct_container(value: Any) -> bool:
    """Return whether the value is a direct container. Indirect ones are among the document's
    objects."""
    return isinstance(value, pikepdf.Dictionary | pikepdf.Array) and not value.is_indirect


def _clean_object(part: Any) -> None:
    if str(part.get("/S", "")) in _ACTIONS:
        for key in list(part.keys()):
            del part[key]
        return
    for key in _ACTIVE_KEYS:
        if key in part:
            del part[key]
    link = part.get("/URI")
    if isinstance(link, pikepdf.String) and not _LINK.match(bytes(link)):
        del part["/URI"]
    if isinstance(part, pikepdf.Stream):
        # References to content in another file.
        for key in ("/F", "/FFilter", "/FDecodeParms", "/Ref"):
            if key in part:
                del part[key]
        _check_picture(part)


def _check_picture(stream: Any) -> None:
    width, height = stream.get("/Width", 0), stream.get("/Height", 0)
    if stream.get("/Subtype") == "/Image" and int(width) * int(height) > MAX_PICTURE_PIXELS:
        raise build_file_refusal(
            f"A picture in the PDF has more than {MAX_PICTURE_PIXELS:,} pixels."
        )


def _count_unpacked(stream: Any, limit_bytes: int) -> int:
    """Return how many bytes the stream's outer Deflate layers unpack to, all of them together.
    Raises UnsupportedMediaType above `limit_bytes`.

    Other filters are not unpacked: only Deflate compresses a thousandfold.
    """
    filters = stream.get("/Filter", [])
    names = (
        [str(each) for each in filters] if isinstance(filters, pikepdf.Array) else [str(filters)]
    )
    content, size = stream.read_raw_bytes(), 0
    for number, name in enumerate(names, start=1):
        if name not in _DEFLATE:
            break
        content, unpacked = _unpack(content, limit_bytes - size, is_kept=number < len(names))
        size += unpacked
    return size


def _unpack(content: bytes, limit_bytes: int, *, is_kept: bool) -> tuple[bytes, int]:
    """Return the uncompressed bytes, which are empty unless `is_kept`, and the number of
    uncompressed bytes. Raises UnsupportedMediaType above `limit_bytes`."""
    unpacker, size, kept = zlib.decompressobj(), 0, bytearray()
    # PDF readers show the data before an error. Data after the end does not belong to the stream.
    with contextlib.suppress(zlib.error):
        while content and not unpacker.eof:
            chunk = unpacker.decompress(content, _CHUNK_BYTES)
            content = unpacker.unconsumed_tail
            size += len(chunk)
            if size > limit_bytes:
                raise build_file_refusal(
                    "The PDF is too large when unpacked; print it to a new one."
                )
            if is_kept:
                kept += chunk
    return bytes(kept), size


MAX_PAGES = 500
# The end mark of a PDF is in its last kilobyte, as readers expect (ISO 32000, annex H).
_PDF_TAIL_BYTES = 1024


@dataclass(frozen=True, slots=True)
class CleanFile:
    """A file that Dunwell wrote, and its type, one of ALLOWED_TYPES."""

    content_type: str
    content: bytes


def clean_file(content: bytes) -> CleanFile:
    """Return the rewritten file. Raises UnsupportedMediaType for a file that is not of one of
    ALLOWED_TYPES, is broken, or exceeds a limit.

    The type's signature must be the first bytes: a file that only contains a PDF somewhere is
    rejected. The type's parser must then read the whole file.
    """
    content_type = _find_content_type(content)
    if content_type is None:
        raise build_file_refusal("Files of this type are not accepted.")
    try:
        cleaned = _CLEANERS[content_type](content)
    except UnsupportedMediaType:
        raise
    except Exception as error:  # Parsers raise anything for broken files.
        raise build_file_refusal(
            f"The file begins like {content_type} but cannot be read as one."
        ) from error
    return CleanFile(content_type, cleaned)


def _find_content_type(content: bytes) -> str | None:
    if content.startswith(b"%PDF-"):
        return PDF
    if content.startswith(b"\xff\xd8\xff"):
        return JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    return None


def _clean_pdf(content: bytes) -> bytes:
    if b"%%EOF" not in content[-_PDF_TAIL_BYTES:]:
        raise build_file_refusal(
            "The PDF has no end mark (%%EOF) at its end; it may be incomplete."
        )
    try:
        with pikepdf.open(io.BytesIO(content)) as pdf:
            count = len(pdf.pages)
            if not 0 < count <= MAX_PAGES:
                raise build_file_refusal(
                    f"The PDF has {count} pages; 1 to {MAX_PAGES} are accepted."
                )
            return clean_pdf(pdf)
    except pikepdf.PasswordError as error:
        raise build_file_refusal("The PDF is protected by a password; remove it.") from error


_CLEANERS: dict[str, Callable[[bytes], bytes]] = {
    PDF: _clean_pdf,
    JPEG: lambda content: clean_image(content, JPEG),
    PNG: lambda content: clean_image(content, PNG),
    WEBP: lambda content: clean_image(content, WEBP),
}
