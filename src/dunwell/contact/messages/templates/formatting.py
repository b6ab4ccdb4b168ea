"""Format facts in a language: amounts and dates by CLDR, names, and the text of each placeholder.

Amounts never break across lines, because their spaces are no-break spaces. Values cannot bring line
breaks, control characters or direction marks into a message. Pure.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.numbers import format_currency, get_currency_precision
from markupsafe import escape as _escape

from dunwell.contact.messages.templates.facts import ItemType, MessageFacts, MessageItem
from dunwell.contact.messages.templates.placeholders import (
    GREETING_PLACEHOLDER,
    ITEMS,
    LANDING_CODE,
    LANDING_URL,
    PAY_BY,
    PLACEHOLDER_NAMES,
)
from dunwell.core.claims.fields import DebtorName
from dunwell.platform.text.translation import Language, find_debtor_language

# Currencies whose minor unit (ISO 4217) does not have two digits. CLDR's digits are those that
# people write, which for some currencies omit the minor unit.
_MINOR_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_OTHER_MINOR_DIGITS = {
    code: digits for digits, codes in _MINOR_DIGITS.items() for code in codes.split()
}
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_CODE_AND_DIGIT = re.compile(r"(?<=[A-Z])(?=\d)")
_LINE_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters and direction marks.
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


@lru_cache(maxsize=256)
def get_locale(language: str) -> Locale:
    """Return the CLDR locale of a language tag; English if CLDR does not know it."""
    try:
        return Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        return Locale("en")


def count_minor_digits(currency: str) -> int:
    """Return the number of decimal digits of a currency (ISO 4217)."""
    return _OTHER_MINOR_DIGITS.get(currency, 2)


def render_money(cents: int, currency: str, language: str) -> str:
    """Format an amount in minor units (ISO 4217) with its currency: 1.234,56 € in German."""
    numerals = str(abs(cents)).rjust(count_minor_digits(currency) + 1, "0")
    pieces = _compute_money_pieces("-" if cents < 0 else "", len(numerals), currency, language)
    return "".join(map(str.__add__, pieces, numerals)) + pieces[-1]


@lru_cache(maxsize=4096)
def _compute_money_pieces(sign: str, count: int, currency: str, language: str) -> tuple[str, ...]:
    """Return the text before each digit of an amount with `count` digits, and after the last one.
    This caches the result of CLDR for all amounts of that length."""
    return tuple(_render_by_cldr(int(sign + "1" * count), currency, language).split("1"))


def _render_by_cldr(cents: int, currency: str, language: str) -> str:
    digits = count_minor_digits(currency)
    amount = Decimal(cents).scaleb(-digits)
    locale = get_locale(language)
    if digits == get_currency_precision(currency):
        text = format_currency(amount, currency, locale=locale)
    else:  # CLDR shows some currencies without their minor unit.
        pattern = locale.currency_formats["standard"].pattern
        exact = pattern.replace(".00", f".{'0' * digits}" if digits else "")
        text = format_currency(amount, currency, exact, locale=locale, currency_digits=False)
    # CLDR separates a currency code that replaces a missing symbol; Babel does not.
    return _CODE_AND_DIGIT.sub(_NO_BREAK_SPACE, text).replace(" ", _NO_BREAK_SPACE)


def get_day_locale(language: str) -> Locale:
    """Return the locale for dates. English without a region uses the European order of day and
    month."""
    return get_locale("en-GB" if language == "en" else language)


@lru_cache(maxsize=8192)
def render_day(day: date | None, language: str) -> str:
    """Format a date with its month in words, which is unambiguous."""
    return "" if day is None else format_date(day, "long", locale=get_day_locale(language))


def render_name(debtor: DebtorName) -> str:
    """Return the name of the person, or of the company if no person is named."""
    return _render_person(debtor) or debtor.company_name or ""


def render_greeting(debtor: DebtorName, language: Language) -> str:
    """Return the greeting without the comma that follows it. If the salutation is unknown, it has
    the whole name; a company without a named person is greeted without a name."""
    person = _render_person(debtor).strip()
    last_name = (debtor.last_name or "").strip()
    if last_name and debtor.salutation == "MR":
        return language.translate("Dear Mr %(name)s", name=last_name)
    if last_name and debtor.salutation == "MS":
        return language.translate("Dear Ms %(name)s", name=last_name)
    return language.translate("Dear %(name)s", name=person) if person else greet_company(language)


def greet_company(language: Language) -> str:
    return language.translate("Dear Sir or Madam")


def _render_person(debtor: DebtorName) -> str:
    return " ".join(part for part in (debtor.first_name, debtor.last_name) if part)


def render_iban(iban: str | None) -> str | None:
    """Return the IBAN in groups of four."""
    return iban and " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))


def render_line(value: str | None) -> str:
    """Return a value on one line, without control characters and direction marks."""
    if not value:
        return ""
    if _CONTROL_CHARACTERS.search(value) is None:
        return value
    return _CONTROL_CHARACTERS.sub("", _LINE_BREAKS.sub(" ", value))


class MessageValues:
    """The facts of one message in one language. Each value is formatted when it is used."""

    __slots__ = ("facts", "language", "translation")

    def __init__(self, facts: MessageFacts, language: str) -> None:
        self.facts = facts
        self.language = language
        self.translation = find_debtor_language(language)

    @property
    def color(self) -> str | None:
        """The creditor's color, if it has one."""
        return self.facts.creditor.color

    @property
    def button_label(self) -> str:
        return self.translation.translate("See and pay")

    def text(self, name: str) -> str:
        """Return the value of a placeholder on one line; empty if the claim has none."""
        render = _VALUES.get(name)
        return render_line(render(self)) if render else ""

    def money(self, cents: int) -> str:
        return render_money(cents, self.facts.claim.currency, self.language)

    def day(self, day: date | None) -> str:
        return render_day(day, self.language)


class NamedTexts:
    """Texts by name, for messages that have their own placeholders."""

    __slots__ = ("_texts", "button_label", "color")

    def __init__(self, texts: Mapping[str, str], language: str, color: str | None = None) -> None:
        """Set the texts.

        `color` is the creditor's color, if it has one.
        """
        self._texts = texts
        self.color = color
        self.button_label = find_debtor_language(language).translate("Open your page")

    def text(self, name: str) -> str:
        return render_line(self._texts.get(name))


def _render_items_inline(values: MessageValues) -> str:
    """Return the items as text, where a table is not possible."""
    return ", ".join(
        f"{label_item(item, values.translation)} {values.money(item.value_cents)}"
        for item in values.facts.claim.items
    )


def label_item(item: MessageItem, language: Language) -> str:
    """Return the type of the item and the merchant's own name for it. If that name contains the
    type, return the name alone."""
    label, own_name = _label_item_type(item.type, language), render_line(item.reference)
    return own_name if label.casefold() in own_name.casefold() else f"{label} {own_name}".rstrip()


def _label_item_type(item_type: ItemType, language: Language) -> str:
    match item_type:
        case "PRIMARY":
            return language.translate("Original amount")
        case "COLLECTION_FEE":
            return language.translate("Collection fee")
        case "DUNNING_FEE":
            return language.translate("Reminder fee")


def escape(text: str) -> str:
    """Escape a text for HTML, between tags or in a quoted attribute."""
    return str(_escape(text))


_VALUES: dict[str, Callable[[MessageValues], str | None]] = {
    "claim.referenceNumber": lambda v: v.facts.claim.reference_number,
    "claim.id": lambda v: str(v.facts.claim.claim_id),
    "customerNumber": lambda v: v.facts.claim.customer_number,
    "contractNumber": lambda v: v.facts.claim.contract_number,
    "debtor.name": lambda v: render_name(v.facts.debtor),
    "debtor.firstName": lambda v: v.facts.debtor.first_name,
    "debtor.lastName": lambda v: v.facts.debtor.last_name,
    "companyName": lambda v: v.facts.debtor.company_name,
    GREETING_PLACEHOLDER: lambda v: render_greeting(v.facts.debtor, v.translation),
    "outstanding": lambda v: v.money(v.facts.claim.outstanding_cents),
    "total": lambda v: v.money(v.facts.claim.total_cents),
    "fees": lambda v: v.money(v.facts.claim.fees_cents),
    ITEMS: _render_items_inline,
    "dueDate": lambda v: v.day(v.facts.claim.due_date),
    "merchant.name": lambda v: v.facts.creditor.name,
    "merchant.legalName": lambda v: v.facts.creditor.legal_name,
    "merchant.email": lambda v: v.facts.creditor.email,
    "merchant.phone": lambda v: v.facts.creditor.phone,
    LANDING_URL: lambda v: v.facts.landing.url,
    LANDING_CODE: lambda v: v.facts.landing.code,
    "landing.domain": lambda v: v.facts.landing.domain,
    "bank.iban": lambda v: render_iban(v.facts.creditor.bank_iban),
    "bank.holder": lambda v: v.facts.creditor.bank_holder,
    "today": lambda v: v.day(v.facts.today),
    PAY_BY: lambda v: v.day(v.facts.pay_by),
}
assert set(_VALUES) == {*PLACEHOLDER_NAMES, GREETING_PLACEHOLDER}
