"""The files of a letter for a print service, and a specimen letter that tests the way to it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from mimetypes import MimeTypes
from uuid import UUID

import pikepdf
from msgspec.structs import replace

from dunwell.accounts.installation.delivery_providers import Enclosures, FolderLine, SftpLine
from dunwell.accounts.installation.installation_file import Operator
from dunwell.contact.messages.letters.address import MAX_LINES
from dunwell.contact.messages.letters.printer import EnclosedPart, LetterPrinter, Unprintable
from dunwell.contact.messages.letters.rendering import ShortLetter, compose_sheet
from dunwell.contact.messages.letters.sheet import SheetPage, write_sheet
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import NamedTexts, greet_company
from dunwell.contact.messages.templates.markdown import parse_markdown
from dunwell.contact.sending.batches.letter_folder import LetterFolder
from dunwell.contact.sending.batches.manifest import HandedFile, Letter, write_manifest
from dunwell.contact.sending.channel import Message, MessageFile
from dunwell.contact.sending.references import write_reference
from dunwell.core.files.upload import PDF
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.text.translation import find_debtor_language

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


# Of no merchant.
NOBODY = 0
_SUBJECT = "TEST: a specimen, not to be posted"
_BODY = """
This is a test of the line {name}. It is about no claim, and nothing is owed.

Look whether the address stands in the window, whether the folds meet their marks, and whether
letters such as ä, ö, ü, ß and € are printed. The code below leads nowhere.
"""


async def print_specimen(
    name: str, line: FolderLine | SftpLine, address: Sequence[str], printer: LetterPrinter,
    *, operator: Operator | None, public_url: str,
) -> bytes:  # fmt: skip
    """The PDF, in the line's layout. Raises Unprintable, and OSError when no child can start."""
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
    sheet = compose_sheet(letter, _describe(operator), "en")
    return await printer.print_sheet(write_sheet(replace(sheet, layout=line.layout)))


async def hand_over_specimen(
    depot: LetterFolder, name: str, files: PrintServiceFiles, batch_id: UUID, made_at: datetime
) -> str:
    """Its files, and then a manifest of its own that is no batch's; answers that one's name. Raises
    OSError."""
    for file, content in files.contents.items():
        await depot.write(file, content)
    manifest = f"test-{batch_id}.json"
    content = write_manifest(batch_id, name, made_at, [files.letter], is_test=True)
    await depot.write(manifest, content)
    return manifest


async def make_specimen_files(
    line: FolderLine | SftpLine, message: Message, keys: KeyRing, printer: LetterPrinter
) -> PrintServiceFiles:
    """As of any letter; named by a reference that no message has. Raises LetterUnfit."""
    reference = write_reference(keys, NOBODY, message.communication_id)
    return await make_files(
        message, reference, printer=printer, enclosures=line.enclosures, most=line.most_pages
    )


def name_document(pdf: bytes) -> MessageFile:
    return MessageFile("letter.pdf", "application/pdf", pdf)


def _describe(operator: Operator | None) -> CreditorFacts:
    """The operator as whoever writes; made up where none is named."""
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
