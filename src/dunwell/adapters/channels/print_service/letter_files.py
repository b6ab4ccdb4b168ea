"""The files of a letter for a print service, and a specimen letter that tests a delivery provider.

The letter's file is named by its reference. Enclosures are appended to it or are separate files.
The specimen belongs to no claim and is marked as a test on its sheet and in its manifest. It is not
registered, so no batch contains it.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from mimetypes import MimeTypes
from uuid import UUID

import pikepdf
from msgspec.structs import replace

from dunwell.accounts.installation.delivery_providers import (
    Enclosures,
    FolderProvider,
    SftpProvider,
)
from dunwell.accounts.installation.installation_file import Operator
from dunwell.contact.messages.letters.address import MAX_LINES
from dunwell.contact.messages.letters.printer import EnclosedPart, LetterPrinter, Unprintable
from dunwell.contact.messages.letters.rendering import ShortLetter, build_sheet
from dunwell.contact.messages.letters.sheet import SheetPage, encode_sheet
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import NamedTexts, greet_company
from dunwell.contact.messages.templates.markdown import parse_markdown
from dunwell.contact.sending.batches.letter_folder import ExchangeFolder
from dunwell.contact.sending.batches.manifest import BatchLetter, LetterFile, render_manifest
from dunwell.contact.sending.channel import Message, MessageFile
from dunwell.contact.sending.references import build_reference
from dunwell.core.files.upload import PDF
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.text.translation import find_debtor_language

# Python's own table, so that the host's configuration does not matter.
_TYPES = MimeTypes()


class LetterRejected(Exception):  # noqa: N818 - the suffix Error would add nothing
    """This delivery provider cannot send the letter. The text says why, without personal data."""


@dataclass(frozen=True, slots=True)
class PrintServiceFiles:
    """`letter` is the letter's entry in the manifest. `contents` has the files by name, the letter
    itself last."""

    letter: BatchLetter
    contents: dict[str, bytes]


async def build_letter_files(
    message: Message, reference: str, printer: LetterPrinter, enclosures: Enclosures, max_pages: int
) -> PrintServiceFiles:
    """Return the files of a letter. `max_pages` is the largest number of pages, including
    enclosures. Raises LetterRejected, and OSError if no child process can be started."""
    if not 0 < len(message.recipient.splitlines()) <= MAX_LINES or not message.recipient.strip():
        raise LetterRejected(f"An address has one to {MAX_LINES} lines.")
    document = message.document
    if document is None:
        raise LetterRejected("There is no document to print.")
    files = (document, *message.attachments)
    if enclosures == "APPENDED" and message.attachments:
        content, pages = await _join_files(files, printer)
        contents, counts = {f"{reference}.pdf": content}, [pages]
    else:
        contents = {
            _build_file_name(reference, number, file): file.content
            for number, file in enumerate(files)
        }
        counts = [await _count_pages(file, printer, is_ours=file is document) for file in files]
    total = sum(counts)
    if total > max_pages:
        raise LetterRejected(
            f"It has {total} pages; the maximum of this delivery provider is {max_pages}."
        )
    entries = [
        # A file that is not a PDF counts as one page, but its entry states no number of pages.
        LetterFile(name, sha256(content).hex(), pages if name.endswith(".pdf") else None)
        for (name, content), pages in zip(contents.items(), counts, strict=True)
    ]
    letter = BatchLetter(reference, message.country, total, entries)
    return PrintServiceFiles(letter, dict(reversed(contents.items())))


def _build_file_name(reference: str, number: int, file: MessageFile) -> str:
    """Return the name of a file. No part of it comes from a merchant or debtor."""
    if number == 0:
        return f"{reference}.pdf"
    return f"{reference}.{number}{_TYPES.guess_extension(file.content_type) or '.bin'}"


async def _join_files(files: tuple[MessageFile, ...], printer: LetterPrinter) -> tuple[bytes, int]:
    try:
        return await printer.join([EnclosedPart(file.content_type, file.content) for file in files])
    except Unprintable as error:
        reason = "An enclosure cannot be put into one PDF with the letter."
        raise LetterRejected(reason) from error


async def _count_pages(file: MessageFile, printer: LetterPrinter, *, is_ours: bool) -> int:
    """Return the number of pages. Only the printer's child process opens files from outside."""
    if file.content_type != PDF:
        return 1
    if is_ours:
        return _count_letter_pages(file.content)
    pages = await printer.count_pages(file.content)
    if pages is None:
        raise LetterRejected("An enclosure is not a readable PDF.")
    return pages


def _count_letter_pages(content: bytes) -> int:
    try:
        with pikepdf.open(io.BytesIO(content)) as opened:
            return len(opened.pages)
    except pikepdf.PdfError as error:
        raise LetterRejected("The letter is not a PDF.") from error


# The id that no merchant has.
NO_MERCHANT = 0
_SUBJECT = "TEST: a specimen, do not post it"
_BODY = """
This is a test of the delivery provider {name}. It is about no claim, and nothing is owed.

Check that the address is visible in the window, that the folds meet their marks, and that letters
such as ä, ö, ü, ß and € are printed. The code below does not work.
"""


async def print_specimen(
    name: str, provider: FolderProvider | SftpProvider, address: Sequence[str],
    printer: LetterPrinter,
    *, operator: Operator | None, public_url: str,
) -> bytes:  # fmt: skip
    """Return the PDF in the delivery provider's layout. Raises Unprintable, and OSError if no child
    process can be started."""
    letter = ShortLetter(
        subject=_SUBJECT,
        greeting=greet_company(find_debtor_language("en")),
        body=parse_markdown(_BODY.format(name=name)),
        values=NamedTexts({}, "en"),
        address=address,
        today="TEST",
        reference="TEST",
        page=SheetPage(public_url, "TEST-TEST-TEST", public_url),
    )
    sheet = build_sheet(letter, _describe(operator), "en")
    return await printer.print_sheet(encode_sheet(replace(sheet, layout=provider.layout)))


async def upload_specimen(
    letter_folder: ExchangeFolder,
    name: str,
    files: PrintServiceFiles,
    batch_id: UUID,
    created_at: datetime,
) -> str:
    """Upload the files and a separate manifest that belongs to no batch, and return the manifest's
    name. Raises OSError."""
    for file, content in files.contents.items():
        await letter_folder.write(file, content)
    manifest = f"test-{batch_id}.json"
    content = render_manifest(batch_id, name, created_at, [files.letter], is_test=True)
    await letter_folder.write(manifest, content)
    return manifest


async def build_specimen_files(
    provider: FolderProvider | SftpProvider, message: Message, keys: KeyRing, printer: LetterPrinter
) -> PrintServiceFiles:
    """Return the files as for any letter, with a reference that no message has. Raises
    LetterRejected."""
    reference = build_reference(keys, NO_MERCHANT, message.communication_id)
    return await build_letter_files(
        message,
        reference,
        printer=printer,
        enclosures=provider.enclosures,
        max_pages=provider.most_pages,
    )


def build_document(pdf: bytes) -> MessageFile:
    return MessageFile("letter.pdf", "application/pdf", pdf)


def _describe(operator: Operator | None) -> CreditorFacts:
    """Return the operator as the sender, or an invented one if none is configured."""
    if operator is None:
        return CreditorFacts("Dunwell", "Dunwell, a test", "Nowhere 1\n00000 Nowhere", "")
    legal = operator.legal
    return CreditorFacts(
        name=legal.name,
        legal_name=legal.name,
        legal_address=legal.address,
        email=operator.contact.email,
        phone=operator.contact.phone,
    )
