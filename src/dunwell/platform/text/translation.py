"""Texts in the reader's language. Every text is written once, in English, where it is used; the
English text is its key in the gettext catalogues. A lazy text is translated when it is shown.

There is one folder of catalogues for each audience: debtors read pages, messages and letters; the
staff of merchants and operators reads the portal and e-mails about the service. Adding a language
is adding a catalogue. A catalogue is compiled once in a process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Self

from babel.core import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po


class LazyText(str):
    """A text in English that a page can show in the reader's language.

    The string itself has its placeholders filled; the API and the command line show it as it is.
    """

    __slots__ = ("facts", "text")
    # The text with placeholders such as `%(name)s`, which is its key in the catalogues.
    text: str
    facts: dict[str, Any]

    def __new__(cls, text: str, **facts: Any) -> Self:
        lazy = super().__new__(cls, text % facts if facts else text)
        lazy.text, lazy.facts = text, facts
        return lazy


class InstantText(str):
    """An instant in a text. The API and the command line show the string, a page shows `instant` in
    the reader's format."""

    __slots__ = ("instant",)
    instant: datetime

    def __new__(cls, text: str, instant: datetime) -> Self:
        shown = super().__new__(cls, text)
        shown.instant = instant
        return shown


class CountText(str):
    """A large number in a text. The API and the command line show the string, a page shows `number`
    in the reader's format."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, number: int) -> Self:
        shown = super().__new__(cls, f"{number:,}")
        shown.number = number
        return shown


class AmountText(str):
    """An amount of money in a text. The API and the command line show the string, a page shows the
    minor units in the reader's format."""

    __slots__ = ("cents", "currency")
    cents: int
    # ISO 4217, or "" if it is unknown.
    currency: str

    def __new__(cls, text: str, cents: int, currency: str) -> Self:
        shown = super().__new__(cls, text)
        shown.cents, shown.currency = cents, currency
        return shown


class DayText(str):
    """A day in a text. The API and the command line show the string, a page shows `day` in the
    reader's format."""

    __slots__ = ("day",)
    day: date

    def __new__(cls, text: str, day: date) -> Self:
        shown = super().__new__(cls, text)
        shown.day = day
        return shown


SOURCE_LANGUAGE = "en"
DEBTOR_CATALOGUES = Path(__file__).parent / "catalogues" / "debtors"
STAFF_CATALOGUES = Path(__file__).parent / "catalogues" / "staff"


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    # The name of the language in the language itself.
    name: str
    direction: Literal["ltr", "rtl"]
    translations: NullTranslations

    def translate(self, text: str, /, **facts: Any) -> str:
        """Return the text with the facts in the places of `%(name)s`."""
        translated = self.translations.gettext(text)
        return translated % facts if facts else translated


@cache
def load_languages(folder: Path) -> Mapping[str, Language]:
    """Return English and each language that has a catalogue in this folder, ordered by code."""
    translations: dict[str, NullTranslations] = {SOURCE_LANGUAGE: NullTranslations()}
    translations |= {path.stem: _compile(path) for path in folder.glob("*.po")}
    return {code: _describe_language(code, translations[code]) for code in sorted(translations)}


def find_debtor_language(code: str) -> Language:
    """Return the language of texts for debtors by its code or tag ("de", "de-AT"); English if
    there is no catalogue for it."""
    return _find_language(DEBTOR_CATALOGUES, code)


def find_staff_language(code: str) -> Language:
    """Return the language of texts for users, merchants and operators, as `find_debtor_language`
    does."""
    return _find_language(STAFF_CATALOGUES, code)


def _find_language(folder: Path, code: str) -> Language:
    languages = load_languages(folder)
    return languages.get(code.partition("-")[0].lower(), languages[SOURCE_LANGUAGE])


def _describe_language(code: str, translations: NullTranslations) -> Language:
    locale = Locale.parse(code)
    direction: Literal["ltr", "rtl"] = "rtl" if locale.text_direction == "rtl" else "ltr"
    name = locale.get_display_name(locale) or code
    return Language(code, name[:1].upper() + name[1:], direction, translations)


def _compile(path: Path) -> GNUTranslations:
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=path.stem, abort_invalid=True))
    compiled.seek(0)
    return GNUTranslations(compiled)
