"""What letters and papers say, as data for their layouts (`letter.typ`, `paper.typ`). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Brand
from dunwell.contact.messages.templates.creditors import write_operator
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.contact.messages.templates.rendering import list_footer
from dunwell.platform.text.translation import find_debtor_language

Row = tuple[str, str]
USUAL_LAYOUT = "din-5008-b"


class Picture(msgspec.Struct, frozen=True):
    """SVG, PNG, JPEG or WebP, as checked when it was set up."""

    content_type: str
    content: bytes


class Items(msgspec.Struct, frozen=True):
    head: Row
    # What, when (may be empty), how much.
    rows: list[tuple[str, str, str]]
    sums: list[Row]


class SheetPage(msgspec.Struct, frozen=True):
    """The debtor's page: where to enter the code, and the address the QR code holds."""

    entrance: str
    code: str
    url: str


class Transfer(msgspec.Struct, frozen=True):
    rows: list[Row]
    # What the payment code holds; none where banking apps would not read it.
    payload: str | None = None


class Enclosure(msgspec.Struct, frozen=True):
    name: str
    pages: int | None = None


class Sheet(msgspec.Struct, frozen=True):
    language: str
    sender: str
    # As debtors know it.
    sender_name: str
    # #rrggbb.
    color: str | None
    # In place of the name.
    logo: Picture | None
    # One line above the address, for the post.
    return_line: str
    address: list[str]
    reference: str
    information: list[Row]
    subject: str
    # See `markdown_letter`.
    body: list[list[Any]]
    items: Items
    page: SheetPage
    transfer: Transfer | None
    enclosures: list[str]
    # Columns of lines.
    footer: list[list[str]]
    # The operator, below them; empty: nobody was named.
    operator: str
    # The texts of the layout, by the names that it uses.
    words: Mapping[str, str]
    # Where what stands: a file of `layouts/`.
    layout: str = USUAL_LAYOUT


def write_sheet(sheet: Sheet) -> bytes:
    """As the printer takes it."""
    return msgspec.json.encode(sheet)


class Table(msgspec.Struct, frozen=True):
    """Amounts stand in the last column; `sum` is its last row, empty for none."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    sum: Sequence[str] = ()


class PaperBody(msgspec.Struct, frozen=True):
    title: str
    lead: Sequence[str] = ()
    rows: Sequence[Row] = ()
    table: Table | None = None
    notes: Sequence[str] = ()


class Paper(msgspec.Struct, frozen=True):
    language: str
    sender: str
    # As debtors know it.
    sender_name: str
    # #rrggbb.
    color: str | None
    # In place of the name.
    logo: Picture | None
    title: str
    lead: Sequence[str]
    rows: Sequence[Row]
    table: Table | None
    notes: Sequence[str]
    # Columns of lines.
    footer: Sequence[Sequence[str]]
    # The operator, below them; empty: nobody was named.
    operator: str = ""


def compose_paper(brand: Brand, creditor: CreditorFacts, language: str, body: PaperBody) -> Paper:
    """The body under the creditor's brand, above its footer."""
    logo = brand.logo
    (_, *who), *others = list_footer(creditor, find_debtor_language(language))
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
        footer=[who, *others],
        operator=write_operator(creditor, find_debtor_language(language)),
    )


def write_paper(paper: Paper) -> bytes:
    """As the printer takes it."""
    return msgspec.json.encode(paper)


def _clean(lines: Sequence[str]) -> list[str]:
    return [render_line(line) for line in lines]


def _clean_table(table: Table) -> Table:
    return Table(_clean(table.head), [_clean(row) for row in table.rows], _clean(table.sum))
