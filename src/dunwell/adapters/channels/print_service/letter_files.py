"""From a letter to the files a print service is given: the letter named by its reference, and what
is enclosed, in it or beside it."""

import io
from dataclasses import dataclass
from mimetypes import MimeTypes

import pikepdf

from dunwell.accounts.installation.delivery_providers import Enclosures
from dunwell.contact.messages.letters.address import MAX_LINES
from dunwell.contact.messages.letters.printer import EnclosedPart, LetterPrinter, Unprintable
from dunwell.contact.sending.batches.manifest import HandedFile, Letter
from dunwell.contact.sending.channel import Message, MessageFile
from dunwell.core.files.upload import PDF
from dunwell.platform.crypto import sha256

# The table that comes with Python, not the host's.
_TYPES = MimeTypes()


class LetterUnfit(Exception):  # noqa: N818 - reads as what is wrong
    """This line cannot carry it; the words say why, without personal data."""


@dataclass(frozen=True, slots=True)
class PrintServiceFiles:
    """letter: as a manifest names it; contents: by the files' names, the letter itself last."""

    letter: Letter
    contents: dict[str, bytes]


async def make_files(
    message: Message, reference: str, printer: LetterPrinter, enclosures: Enclosures, most: int
) -> PrintServiceFiles:
    """most: pages, with the enclosures. Raises LetterUnfit, and OSError when no child can start."""
    if not 0 < len(message.recipient.splitlines()) <= MAX_LINES or not message.recipient.strip():
        raise LetterUnfit(f"An address has one to {MAX_LINES} lines.")
    document = message.document
    if document is None:
        raise LetterUnfit("There is no document to print.")
    files = (document, *message.attachments)
    if enclosures == "APPENDED" and message.attachments:
        content, pages = await _join(files, printer)
        contents, counts = {f"{reference}.pdf": content}, [pages]
    else:
        contents = {
            _name(reference, number, file): file.content for number, file in enumerate(files)
        }
        counts = [await _count(file, printer, is_ours=file is document) for file in files]
    total = sum(counts)
    if total > most:
        raise LetterUnfit(f"It has {total} pages; this line takes {most}.")
    handed = [
        # What is no PDF is a page to whoever prints it, and none to count.
        HandedFile(name, sha256(content).hex(), pages if name.endswith(".pdf") else None)
        for (name, content), pages in zip(contents.items(), counts, strict=True)
    ]
    letter = Letter(reference, message.country, total, handed)
    return PrintServiceFiles(letter, dict(reversed(contents.items())))


def _name(reference: str, number: int, file: MessageFile) -> str:
    """No part of it is what a merchant or debtor wrote."""
    if number == 0:
        return f"{reference}.pdf"
    return f"{reference}.{number}{_TYPES.guess_extension(file.content_type) or '.bin'}"


async def _join(files: tuple[MessageFile, ...], printer: LetterPrinter) -> tuple[bytes, int]:
    try:
        return await printer.join([EnclosedPart(each.content_type, each.content) for each in files])
    except Unprintable as error:
        words = "An enclosure cannot be put into one PDF with the letter."
        raise LetterUnfit(words) from error


async def _count(file: MessageFile, printer: LetterPrinter, *, is_ours: bool) -> int:
    """Strangers' files are opened by the printer's child alone."""
    if file.content_type != PDF:
        return 1
    if is_ours:
        return _count_own(file.content)
    pages = await printer.count_pages(file.content)
    if pages is None:
        raise LetterUnfit("An enclosure is no PDF that can be read.")
    return pages


def _count_own(content: bytes) -> int:
    try:
        with pikepdf.open(io.BytesIO(content)) as opened:
            return len(opened.pages)
    except pikepdf.PdfError as error:
        raise LetterUnfit("The letter is no PDF.") from error
