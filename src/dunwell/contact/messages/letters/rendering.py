"""Render letters: from a template and the facts of a claim, or from a single text, such as a
response to a dispute. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as structs_replace

from dunwell.accounts.merchants.configuration import Brand
from dunwell.contact.messages.letters.address import remove_creditor_emoji, remove_debtor_emoji
from dunwell.contact.messages.letters.sheet import (
    DEFAULT_LAYOUT,
    Enclosure,
    LabelledValue,
    Picture,
    Sheet,
    SheetItems,
    SheetPage,
    TransferDetails,
)
from dunwell.contact.messages.templates.compiled_text import SlotValues, fill, fill_within
from dunwell.contact.messages.templates.creditors import render_operator_line
from dunwell.contact.messages.templates.facts import CreditorFacts, MessageFacts
from dunwell.contact.messages.templates.formatting import (
    MessageValues,
    label_item,
    render_iban,
    render_line,
    render_money,
)
from dunwell.contact.messages.templates.mail_blocks import explain_item, list_sums
from dunwell.contact.messages.templates.markdown import ParsedText, parse_markdown
from dunwell.contact.messages.templates.markdown_compilers import fill_blocks
from dunwell.contact.messages.templates.placeholders import MAX_MESSAGE_CHARACTERS
from dunwell.contact.messages.templates.rendering import (
    assemble_text,
    choose_snippets,
    fill_line,
    list_footer,
)
from dunwell.core.workflows.definition import LetterTemplate, Texts
from dunwell.platform.text.translation import Language, find_debtor_language

# The limits of the payment QR code: the amount, and the characters of the name and the purpose.
_MAX_CENTS = 99_999_999_999
_MAX_NAME, _MAX_TEXT = 70, 140
# The limit of the whole payload in UTF-8; more would need a larger symbol than the standard allows.
_MAX_BYTES = 331


@dataclass(frozen=True, slots=True)
class LetterPost:
    """How a letter looks and where it goes: everything that its facts do not contain."""

    # The address lines of the window.
    address: Sequence[str]
    # Host and path of the page where the code is entered.
    code_page_address: str
    # Has the form #rrggbb.
    color: str | None = None
    logo: Picture | None = None
    enclosures: Sequence[Enclosure] = ()
    layout: str = DEFAULT_LAYOUT


@dataclass(frozen=True, slots=True)
class AmountDue:
    """An amount to be transferred, with its payment reference."""

    cents: int
    currency: str
    reference: str


@dataclass(frozen=True, slots=True)
class RenderedLetter:
    subject: str
    body_text: str
    sheet: Sheet


def render_letter(
    template: LetterTemplate,
    snippets: Mapping[str, Texts],
    language: str,
    facts: MessageFacts,
    post: LetterPost,
) -> RenderedLetter:
    """Render a letter in one of the workflow's languages. Raises MessageTooLarge."""
    snippet_texts = choose_snippets(snippets, language)
    facts = replace(
        facts,
        debtor=remove_debtor_emoji(facts.debtor),
        creditor=remove_creditor_emoji(facts.creditor),
    )
    values = MessageValues(facts, language)
    translate = values.translation.translate
    subject = fill_line(template.subject, snippet_texts, values, "LETTER")
    body = parse_markdown(assemble_text(template.body, snippet_texts, values, "LETTER"))
    # The sheet has the same text, and one table for each {{ items }} of it.
    body_text = fill_within(body.text, values, MAX_MESSAGE_CHARACTERS["LETTER"])
    enclosures = [_render_enclosure(each, values.translation) for each in post.enclosures]
    sheet = Sheet(
        language=language.partition("-")[0].lower(),
        sender=facts.creditor.legal_name,
        sender_name=facts.creditor.name,
        color=post.color,
        logo=post.logo,
        return_line=render_return_line(facts.creditor),
        address=list(post.address),
        reference=facts.claim.reference_number,
        information=_list_information(values),
        subject=subject,
        body=fill_blocks(body.letter, values),
        items=_list_items(values),
        page=SheetPage(post.code_page_address, facts.landing.code or "", facts.landing.url or ""),
        transfer=_render_outstanding_transfer(facts, language),
        enclosures=enclosures,
        footer=list_letter_footer(facts.creditor, language),
        operator=render_operator_line(facts.creditor, values.translation),
        words=translate_layout(values.translation),
        layout=post.layout,
    )
    text = [body_text, "\n".join(list_layout_texts(sheet))]
    text += ["\n".join([f"{translate('Enclosed')}:", *enclosures])] if enclosures else []
    return RenderedLetter(subject, "\n\n".join(text) + "\n", sheet)


def _list_information(values: MessageValues) -> list[LabelledValue]:
    claim, creditor, translate = (
        values.facts.claim,
        values.facts.creditor,
        values.translation.translate,
    )
    rows = [
        (translate("Date"), values.day(values.facts.today)),
        (translate("Reference"), claim.reference_number),
        (translate("Customer number"), claim.customer_number),
        (translate("Contract number"), claim.contract_number),
        (translate("Phone"), creditor.phone),
        (translate("E-mail"), creditor.email),
    ]
    return [(label, render_line(value)) for label, value in rows if value]


def _list_items(values: MessageValues) -> SheetItems:
    return SheetItems(
        head=(values.translation.translate("Item"), values.translation.translate("Amount")),
        rows=[
            (
                label_item(item, values.translation),
                explain_item(item, values),
                values.money(item.value_cents),
            )
            for item in values.facts.claim.items
        ],
        sums=list_sums(values),
    )


def _render_outstanding_transfer(facts: MessageFacts, language: str) -> TransferDetails | None:
    """Return the bank details for the whole outstanding amount."""
    claim = facts.claim
    due = AmountDue(claim.outstanding_cents, claim.currency, claim.reference_number)
    return render_transfer(facts.creditor, due, language)


def render_transfer(
    creditor: CreditorFacts, due: AmountDue, language: str
) -> TransferDetails | None:
    """Return how to pay by bank transfer; None if the creditor has no bank account."""
    if creditor.bank_iban is None or creditor.bank_holder is None:
        return None
    translate = find_debtor_language(language).translate
    rows = [
        (translate("Recipient"), creditor.bank_holder),
        ("IBAN", render_iban(creditor.bank_iban)),
        ("BIC", creditor.bank_bic),
        (translate("Amount"), render_money(due.cents, due.currency, language)),
        (translate("Payment reference"), due.reference),
    ]
    payload = render_payment_code(
        holder=creditor.bank_holder,
        iban=creditor.bank_iban,
        bic=creditor.bank_bic,
        cents=due.cents,
        currency=due.currency,
        purpose=due.reference,
    )
    return TransferDetails([(label, render_line(value)) for label, value in rows if value], payload)


def list_letter_footer(creditor: CreditorFacts, language: str) -> list[list[str]]:
    """Return the columns of a letter's footer. They are those of an e-mail without the first line,
    which the letterhead makes redundant."""
    (_, *creditor_lines), *others = list_footer(creditor, find_debtor_language(language))
    return [creditor_lines, *others]


def render_return_line(creditor: CreditorFacts) -> str:
    """Return the sender's name and address on one line."""
    lines = [creditor.legal_name, *creditor.legal_address.splitlines()]
    return " · ".join(render_line(line) for line in lines if line.strip())


def _render_enclosure(enclosure: Enclosure, language: Language) -> str:
    name = render_line(enclosure.name)
    if enclosure.pages is None:
        return name
    if enclosure.pages == 1:
        return language.translate("%(name)s (1 page)", name=name)
    return language.translate("%(name)s (%(count)s pages)", name=name, count=enclosure.pages)


def translate_layout(language: Language) -> dict[str, str]:
    """Return the texts of the layout itself, by the names that `letter.typ` uses."""
    return {
        "page": language.translate("Page {page} of {pages}"),
        "page_title": language.translate("Your page about this letter"),
        "page_text": language.translate(
            "To see the details, pay, or tell us if something is wrong, scan this with your "
            "phone. Or enter the address and the code."
        ),
        "page_alt": language.translate("QR code of your page"),
        "address": language.translate("Address"),
        "code": language.translate("Your code"),
        "transfer_title": language.translate("Pay by bank transfer"),
        "transfer_alt": language.translate("QR code for your banking app"),
        "enclosures": language.translate("Enclosed"),
    }


def list_layout_texts(sheet: Sheet) -> list[str]:
    """Return the texts that the layout adds, for the plain text of the letter."""
    lines = [
        f"{sheet.words['page_title']}: {sheet.page.url}",
        f"{sheet.words['code']}: {sheet.page.code}",
    ]
    transfer = sheet.transfer.rows if sheet.transfer else []
    return [*lines, *(f"{label}: {value}" for label, value in transfer)]


def render_payment_code(
    *, holder: str, iban: str, bic: str | None, cents: int, currency: str, purpose: str
) -> str | None:
    """Return the payload of the QR code for banking apps: a credit transfer by EPC069-12, version
    002.

    Return None if the standard cannot express it: another currency, no amount, or texts that are
    too long.
    """
    holder, purpose = render_line(holder).strip(), render_line(purpose).strip()
    if currency != "EUR" or not 0 < cents <= _MAX_CENTS:
        return None
    if not holder or len(holder) > _MAX_NAME or len(purpose) > _MAX_TEXT:
        return None
    amount = f"EUR{cents // 100}.{cents % 100:02}"
    account = "".join(iban.split())
    lines = ["BCD", "002", "1", "SCT", bic or "", holder, account, amount, "", "", purpose]
    payload = "\n".join(lines).rstrip("\n")
    return payload if len(payload.encode()) <= _MAX_BYTES else None


@dataclass(frozen=True, slots=True)
class ShortLetter:
    """A letter with a single text. `today` is already formatted; `due` is None if nothing is to be
    paid."""

    subject: str
    greeting: str
    body: ParsedText
    values: SlotValues
    address: Sequence[str]
    today: str
    reference: str
    page: SheetPage
    due: AmountDue | None = None


def build_sheet(letter: ShortLetter, creditor: CreditorFacts, language: str) -> Sheet:
    """Return the sheet of a letter with a single text. It has no table of items."""
    translation, creditor = find_debtor_language(language), remove_creditor_emoji(creditor)
    rows = [
        (translation.translate("Date"), letter.today),
        (translation.translate("Reference"), letter.reference),
        (translation.translate("Phone"), creditor.phone),
        (translation.translate("E-mail"), creditor.email),
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
            ["p", [_run(translation.translate("Kind regards")), ["b"], _run(creditor.name)]],
        ],
        items=SheetItems(("", ""), [], []),
        page=letter.page,
        transfer=None if letter.due is None else render_transfer(creditor, letter.due, language),
        enclosures=[],
        footer=list_letter_footer(creditor, language),
        operator=render_operator_line(creditor, translation),
        words=translate_layout(translation),
    )


def render_plain_letter(sheet: Sheet, letter: ShortLetter, language: str) -> str:
    """Return the letter as plain text, which is stored and shown in place of the sheet."""
    paragraphs = [
        f"{render_line(letter.greeting)},",
        fill(letter.body.text, letter.values),
        f"{find_debtor_language(language).translate('Kind regards')}\n{sheet.sender_name}",
        "\n".join(list_layout_texts(sheet)),
    ]
    return "\n\n".join(paragraphs) + "\n"


def add_brand(sheet: Sheet, brand: Brand, layout: str) -> Sheet:
    """Add the merchant's color, logo and layout to a sheet."""
    logo = brand.logo
    picture = None if logo is None else Picture(logo.content_type, logo.content)
    return structs_replace(sheet, color=brand.color, logo=picture, layout=layout)


def _run(text: str) -> list[object]:
    """Return an unstyled run (see `markdown_compilers`)."""
    return ["t", render_line(text), False, False]
