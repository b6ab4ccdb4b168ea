"""A letter of one text, such as an answer: with a greeting, without items, with the amount to
transfer, if there is one, and the way to the debtor's page.

As data for the one layout of letters. The merchant's brand is put on when it is printed: what is
kept of a letter is its words. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dunwell.accounts.merchants.configuration import Brand
from dunwell.contact.messages.creditors import write_operator
from dunwell.contact.messages.facts import CreditorFacts
from dunwell.contact.messages.formatting import render_line
from dunwell.contact.messages.letters.printed_names import print_creditor
from dunwell.contact.messages.letters.rendering import (
    AmountDue,
    list_sender,
    list_ways,
    render_return_line,
    render_transfer,
    translate_layout,
)
from dunwell.contact.messages.letters.sheet import Items, Page, Picture, Sheet
from dunwell.contact.messages.markdown import Parsed
from dunwell.contact.messages.markdown_letter import fill_blocks
from dunwell.contact.messages.parts import Source, fill
from dunwell.platform.text.translation import find_debtor_language


@dataclass(frozen=True, slots=True)
class ShortLetter:
    """today: as it is printed. due: none: nothing is to be paid."""

    subject: str
    greeting: str
    body: Parsed
    values: Source
    address: Sequence[str]
    today: str
    reference: str
    page: Page
    due: AmountDue | None = None


def compose_sheet(letter: ShortLetter, creditor: CreditorFacts, language: str) -> Sheet:
    words, creditor = find_debtor_language(language), print_creditor(creditor)
    rows = [
        (words.translate("Date"), letter.today),
        (words.translate("Reference"), letter.reference),
        (words.translate("Phone"), creditor.phone),
        (words.translate("E-mail"), creditor.email),
    ]
    return Sheet(
        language=language.partition("-")[0].lower(),
        sender=creditor.legal_name,
        sender_name=creditor.name,
        color=None,
        logo=None,
        return_line=render_return_line(creditor),
        address=list(letter.address),
        reference=letter.reference,
        information=[(label, render_line(value)) for label, value in rows if value],
        subject=letter.subject,
        body=[
            ["p", [_run(f"{letter.greeting},")]],
            *fill_blocks(letter.body.letter, letter.values),
            ["p", [_run(words.translate("Kind regards")), ["b"], _run(creditor.name)]],
        ],
        items=Items(("", ""), [], []),
        page=letter.page,
        transfer=None if letter.due is None else render_transfer(creditor, letter.due, language),
        enclosures=[],
        footer=list_sender(creditor, language),
        operator=write_operator(creditor, words),
        words=translate_layout(words),
    )


def render_plain_letter(sheet: Sheet, letter: ShortLetter, language: str) -> str:
    """What stands on it, for whoever reads it later."""
    words = [
        f"{render_line(letter.greeting)},",
        fill(letter.body.text, letter.values),
        f"{find_debtor_language(language).translate('Kind regards')}\n{sheet.sender_name}",
        "\n".join(list_ways(sheet)),
    ]
    return "\n\n".join(words) + "\n"


def put_on(sheet: Sheet, brand: Brand, layout: str) -> Sheet:
    """With the merchant's color and logo, laid out as its line for letters wants it."""
    logo = brand.logo
    picture = None if logo is None else Picture(logo.content_type, logo.content)
    return replace(sheet, color=brand.color, logo=picture, layout=layout)


def _run(text: str) -> list[object]:
    """Plain text, as `markdown_letter` describes a run."""
    return ["t", render_line(text), False, False]
