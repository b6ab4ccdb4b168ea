"""The content of letters and papers as data for their layouts (`letter.typ`, `paper.typ`). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Brand
from dunwell.contact.messages.templates.creditors import render_operator_line
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.contact.messages.templates.rendering import list_footer
from dunwell.platform.text.translation import find_debtor_language

# A label and its value.
LabelledValue = tuple[str, str]
DEFAULT_LAYOUT = "din-5008-b"


class Picture(msgspec.Struct, frozen=True):
    """An SVG, PNG, JPEG or WebP, which was checked when it was uploaded."""

    content_type: str
    content: bytes


class SheetItems(msgspec.Struct, frozen=True):
    # The headings of the descriptions and of the amounts.
    head: tuple[str, str]
    # Description, explanation (may be empty) and amount.
    rows: list[tuple[str, str, str]]
    sums: list[LabelledValue]


class SheetPage(msgspec.Struct, frozen=True):
    """How the debtor opens the page of the claim: by entering the code, or by the QR code."""

    # The host and path of the page where the code is entered, without the scheme.
    code_page_address: str
    code: str
    # The address in the QR code, with the token.
    url: str


class TransferDetails(msgspec.Struct, frozen=True):
    rows: list[LabelledValue]
    # The payload of the payment QR code; None if banking apps could not read it.
    payload: str | None = None


class Enclosure(msgspec.Struct, frozen=True):
    name: str
    pages: int | None = None


class Sheet(msgspec.Struct, frozen=True):
    language: str
    sender: str
    # The name that debtors know.
    sender_name: str
    # Has the form #rrggbb.
    color: str | None
    # Shown instead of the name.
    logo: Picture | None
    # One line above the address, for returned mail.
    return_line: str
    address: list[str]
    reference: str
    information: list[LabelledValue]
    subject: str
    # Blocks as `markdown_compilers` describes them.
    body: list[list[Any]]
    items: SheetItems
    page: SheetPage
    transfer: TransferDetails | None
    enclosures: list[str]
    # Columns of lines.
    footer: list[list[str]]
    # The operator's line below the footer; empty if the installation names no operator.
    operator: str
    # The texts of the layout, by the names it uses.
    words: Mapping[str, str]
    # The name of a file in `layouts/`.
    layout: str = DEFAULT_LAYOUT


def encode_sheet(sheet: Sheet) -> bytes:
    """Encode the sheet for the printer."""
    return msgspec.json.encode(sheet)


class PaperTable(msgspec.Struct, frozen=True):
    """A table with amounts in the last column. `sum` is the last row; empty without one."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    sum: Sequence[str] = ()


class PaperBody(msgspec.Struct, frozen=True):
    title: str
    lead: Sequence[str] = ()
    rows: Sequence[LabelledValue] = ()
    table: PaperTable | None = None
    notes: Sequence[str] = ()


class Paper(msgspec.Struct, frozen=True):
    language: str
    sender: str
    # The name that debtors know.
    sender_name: str
    # Has the form #rrggbb.
    color: str | None
    # Shown instead of the name.
    logo: Picture | None
    title: str
    lead: Sequence[str]
    rows: Sequence[LabelledValue]
    table: PaperTable | None
    notes: Sequence[str]
    # Columns of lines.
    footer: Sequence[Sequence[str]]
    # The operator's line below the footer; empty if the installation names no operator.
    operator: str = ""


def build_paper(brand: Brand, creditor: CreditorFacts, language: str, body: PaperBody) -> Paper:
    """Return a paper with the creditor's brand and footer."""
    logo = brand.logo
    (_heading, *creditor_lines), *paragraphs = list_footer(creditor, find_debtor_language(language))
    return Paper(
        language=language.partition("-")[0].lower(),
        sender=render_line(creditor.legal_name),
        sender_name=render_line(creditor.name),
        color=brand.color,
        logo=None if logo is None else Picture(logo.content_type, logo.content),
        title=render_line(body.title),
        lead=_clean(body.lead),
        rows=[(render_line(label), render_line(value)) for label, value in body.rows],
        table=body.table and _clean_table(body.table),
        notes=_clean(body.notes),
        footer=[creditor_lines, *paragraphs],
        operator=render_operator_line(creditor, find_debtor_language(language)),
    )


def encode_paper(paper: Paper) -> bytes:
    """Encode the paper for the printer."""
    return msgspec.json.encode(paper)


def _clean(lines: Sequence[str]) -> list[str]:
    return [render_line(line) for line in lines]


def _clean_table(table: PaperTable) -> PaperTable:
    return PaperTable(_clean(table.head), [_clean(row) for row in table.rows], _clean(table.sum))
