"""Letters as a print service receives them: functions that create and read them."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pikepdf

from dunwell.contact.sending.channel import Message, MessageFile
from tests.adapters.channel_contract import ChannelUnderTest


def a_pdf(words: str = "a letter", pages: int = 1) -> bytes:
    """Return a PDF whose title contains the words."""
    with pikepdf.new() as made:
        for _ in range(pages):
            made.add_blank_page()
        made.docinfo["/Title"] = pikepdf.String(words)
        saved = io.BytesIO()
        made.save(saved, deterministic_id=True)
        return saved.getvalue()


def read_pdf(content: bytes) -> tuple[str, int]:
    """Return its title and number of pages."""
    with pikepdf.open(io.BytesIO(content)) as opened:
        return str(opened.docinfo.get("/Title", "")), len(opened.pages)


def list_letters(folder: Path) -> dict[str, bytes]:
    """Return the letters in a folder by name, without enclosures."""
    letters = (path for path in folder.glob("*.pdf") if path.stem.isalnum())
    return {path.name: path.read_bytes() for path in sorted(letters)}


def list_files(folder: Path) -> list[str]:
    """Return the files, or [] if the folder is missing."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def remove_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@contextmanager
def folder_unavailable(folder: Path) -> Iterator[None]:
    """Make the folder unavailable, as if its disk were not mounted."""
    away = folder.rename(folder.with_name("away"))
    yield
    away.rename(folder)


def list_manifests(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("batch-*.json"))
    return [msgspec.json.decode(path.read_bytes()) for path in paths]


@dataclass(frozen=True)
class PrintServiceUnderTest(ChannelUnderTest):
    """Its letters are PDFs, because their pages are counted."""

    letter_folder: Path = field(default_factory=Path)
    merchant_id: int = 1

    def a_message(self, **changes: Any) -> Message:
        message = super().a_message(**{"merchant_id": self.merchant_id} | changes)
        letter = MessageFile("letter.pdf", "application/pdf", a_pdf(message.body_text))
        return replace(message, document=letter)


def under_test(adapter: Any, letter_folder: Path, merchant_id: int) -> PrintServiceUnderTest:
    def received() -> list[str]:
        return [read_pdf(content)[0] for content in list_letters(letter_folder).values()]

    return PrintServiceUnderTest(
        adapter,
        received,
        bad_recipient="x\n" * 7,
        letter_folder=letter_folder,
        merchant_id=merchant_id,
    )


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()
