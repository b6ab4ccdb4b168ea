"""A letter of nobody to nobody: tries a line for letters, from the printer to the service's folder.

It says on its sheet and in its manifest that it is a test, and nothing of it is registered, so no
batch ever names it.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.installation.delivery_providers import FolderLine, SftpLine
from dunwell.accounts.installation.operator import Operator
from dunwell.adapters.channels.print_service.letter_files import PrintServiceFiles, make_files
from dunwell.contact.messages.facts import CreditorFacts
from dunwell.contact.messages.formatting import NamedTexts, greet_company
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.rendering import ShortLetter, compose_sheet
from dunwell.contact.messages.letters.sheet import SheetPage, write_sheet
from dunwell.contact.messages.markdown import parse_markdown
from dunwell.contact.sending.batches.depot import Depot
from dunwell.contact.sending.batches.manifest import write_manifest
from dunwell.contact.sending.channel import Message, MessageFile
from dunwell.contact.sending.references import write_reference
from dunwell.platform.crypto import KeyRing
from dunwell.platform.text.translation import find_debtor_language

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
    depot: Depot, name: str, files: PrintServiceFiles, batch_id: UUID, made_at: datetime
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
