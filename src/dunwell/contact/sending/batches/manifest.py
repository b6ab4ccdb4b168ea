"""The manifest of a batch: the letters that a print service is to print, with the hashes of their
files.

JSON in UTF-8 with sorted keys and one letter per line, so that equal batches give equal bytes.
Pure.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

_VERSION = 1
_NAME = re.compile(r"batch-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json")


class ManifestBroken(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The content is not a manifest that Dunwell wrote."""


class LetterFile(msgspec.Struct, frozen=True):
    """A file of a letter. `sha256` is hexadecimal; `pages` is None for a file that is not a PDF."""

    name: str
    sha256: str
    pages: int | None = None


class BatchLetter(msgspec.Struct, frozen=True, rename="camel"):
    """A letter of a batch. `files` has the letter first, then its enclosures."""

    reference: str
    country: str | None
    pages: int
    files: Sequence[LetterFile]


class ManifestHead(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    manifest: int
    batch: UUID
    # The name of the delivery provider.
    line: str
    created_at: datetime
    letters: int
    pages: int
    # True for a specimen, which is not to be posted.
    test: bool = False


class PrintManifest(msgspec.Struct, frozen=True):
    head: ManifestHead
    letters: Sequence[BatchLetter]


def name_manifest(batch_id: UUID) -> str:
    return f"batch-{batch_id}.json"


def parse_manifest_name(name: str) -> UUID | None:
    """Return the batch id in the name of a manifest, or None for another file."""
    match = _NAME.fullmatch(name)
    return UUID(match[1]) if match else None


def list_old_manifests(names: Iterable[str], before: UUID) -> list[str]:
    """List the manifests of batches whose ids are before `before`, the oldest first. Other files
    are ignored."""
    dated = [(batch_id, name) for name in names if (batch_id := parse_manifest_name(name))]
    return [name for batch_id, name in sorted(dated) if batch_id < before]


def render_manifest(
    batch_id: UUID, provider: str, created_at: datetime, letters: Sequence[BatchLetter],
    *, is_test: bool = False,
) -> bytes:  # fmt: skip
    pages = sum(each.pages for each in letters)
    head = ManifestHead(
        _VERSION,
        batch_id,
        line=provider,
        created_at=created_at,
        letters=len(letters),
        pages=pages,
        test=is_test,
    )
    head_json = msgspec.json.encode({"head": head})[:-1]
    rows = b",\n".join(msgspec.json.encode(each) for each in letters)
    return head_json + b',"letters":[\n' + rows + b"\n]}\n"


def parse_manifest(content: bytes, batch_id: UUID, provider: str) -> PrintManifest:
    """Parse a manifest. Raises ManifestBroken, also for the manifest of another provider or
    batch.
    """
    try:
        manifest = msgspec.json.decode(content, type=PrintManifest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ManifestBroken("it is not a manifest") from error
    head = manifest.head
    expected = (_VERSION, batch_id, provider)
    if (head.manifest, head.batch, head.line) != expected or not manifest.letters:
        raise ManifestBroken("it belongs to another provider or batch")
    return manifest
