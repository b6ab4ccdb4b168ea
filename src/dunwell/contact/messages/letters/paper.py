"""What a paper says that a debtor takes from the pages, as data for its layout (`paper.typ`).

A receipt or a confirmation: a title, sentences, facts in rows, a table, sentences. Texts, never
source, each on one line. Pure.
"""

from collections.abc import Sequence

import msgspec

from dunwell.accounts.merchants.configuration import Brand
from dunwell.contact.messages.creditors import write_operator
from dunwell.contact.messages.facts import CreditorFacts
from dunwell.contact.messages.formatting import render_line
from dunwell.contact.messages.letters.sheet import Picture, Row
from dunwell.contact.messages.rendering import list_footer
from dunwell.platform.text.translation import find_debtor_language


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
