"""The manifest of a batch: the list of letters a print service is to print, with what proves each.

JSON in UTF-8, its keys in order, one letter a line: equal batches give equal bytes. Pure.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

_VERSION = 1


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


class _Head(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    manifest: int
    batch: UUID
    line: str
    made_at: datetime
    letters: int
    pages: int
    # Of a specimen: it is not to be posted.
    test: bool = False


def name_manifest(batch_id: UUID) -> str:
    return f"batch-{batch_id}.json"


def write_manifest(
    batch_id: UUID, line: str, made_at: datetime, letters: Sequence[Letter],
    *, is_test: bool = False,
) -> bytes:  # fmt: skip
    pages = sum(each.pages for each in letters)
    head = _Head(_VERSION, batch_id, line, made_at, len(letters), pages, is_test)
    opened = msgspec.json.encode({"head": head})[:-1]
    rows = b",\n".join(msgspec.json.encode(each) for each in letters)
    return opened + b',"letters":[\n' + rows + b"\n]}\n"
