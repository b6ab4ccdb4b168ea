"""The manifest of a batch: the list of letters a print service is to print, with what proves each.

JSON in UTF-8, its keys in order, one letter a line: equal batches give equal bytes. Pure.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

_VERSION = 1
_NAME = re.compile(r"batch-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json")


class ManifestBroken(Exception):  # noqa: N818 - reads as what is wrong
    """It is none that we wrote."""


class HandedFile(msgspec.Struct, frozen=True):
    """sha256 in hexadecimal digits. pages: none for what is no PDF."""

    name: str
    sha256: str
    pages: int | None = None


class Letter(msgspec.Struct, frozen=True, rename="camel"):
    """files: the letter itself first, then what is enclosed beside it."""

    reference: str
    country: str | None
    pages: int
    files: Sequence[HandedFile]


class ManifestHead(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    manifest: int
    batch: UUID
    line: str
    made_at: datetime
    letters: int
    pages: int
    # Of a specimen: it is not to be posted.
    test: bool = False


class PrintManifest(msgspec.Struct, frozen=True):
    head: ManifestHead
    letters: Sequence[Letter]


def name_manifest(batch_id: UUID) -> str:
    return f"batch-{batch_id}.json"


def read_manifest_name(name: str) -> UUID | None:
    """None: it is no manifest's."""
    named = _NAME.fullmatch(name)
    return UUID(named[1]) if named else None


def list_old_manifests(names: Iterable[str], before: UUID) -> list[str]:
    """Those of earlier batches, the oldest first; of what is none nothing."""
    dated = [(batch_id, name) for name in names if (batch_id := read_manifest_name(name))]
    return [name for batch_id, name in sorted(dated) if batch_id < before]


def write_manifest(
    batch_id: UUID, line: str, made_at: datetime, letters: Sequence[Letter],
    *, is_test: bool = False,
) -> bytes:  # fmt: skip
    pages = sum(each.pages for each in letters)
    head = ManifestHead(
        _VERSION,
        batch_id,
        line=line,
        made_at=made_at,
        letters=len(letters),
        pages=pages,
        test=is_test,
    )
    opened = msgspec.json.encode({"head": head})[:-1]
    rows = b",\n".join(msgspec.json.encode(each) for each in letters)
    return opened + b',"letters":[\n' + rows + b"\n]}\n"


def read_manifest(content: bytes, batch_id: UUID, line: str) -> PrintManifest:
    """Raises ManifestBroken, for another line's or another batch's too."""
    try:
        manifest = msgspec.json.decode(content, type=PrintManifest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ManifestBroken("it is no manifest") from error
    head = manifest.head
    if (head.manifest, head.batch, head.line) != (_VERSION, batch_id, line) or not manifest.letters:
        raise ManifestBroken("it is another's")
    return manifest
