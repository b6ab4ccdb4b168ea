"""The words of the pages by language, from the catalogues beside this folder.

English stands in the templates; every other language is a gettext catalogue, compiled once in a
process. Adding a language is adding a catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Literal

from babel.core import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

CATALOGUES = Path(__file__).parents[1] / "catalogues"
SOURCE_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    # What its own speakers call it.
    name: str
    direction: Literal["ltr", "rtl"]
    words: NullTranslations


@cache
def load_languages(folder: Path = CATALOGUES) -> Mapping[str, Language]:
    """The languages there are, by code: English and one for each catalogue, in the order of their
    codes."""
    words: dict[str, NullTranslations] = {SOURCE_LANGUAGE: NullTranslations()}
    words |= {path.stem: _compile(path) for path in folder.glob("*.po")}
    return {code: describe_language(code, words[code]) for code in sorted(words)}


@lru_cache(maxsize=4096)
def choose_language(
    offered: tuple[str, ...], chosen: str | None, claims: str | None, accepted: str, merchants: str
) -> str:
    """The reader's own choice, the claim's language, the browser's, the merchant's, English, any.

    accepted: the browser's Accept-Language header.
    """
    for wanted in (chosen, claims, *_read_accepted(accepted), merchants, SOURCE_LANGUAGE):
        code = (wanted or "").partition("-")[0].lower()
        if code in offered:
            return code
    return offered[0]


def _read_accepted(header: str) -> list[str]:
    """Language tags, the most wanted first; what cannot be read counts as unwanted."""
    wanted: list[tuple[float, int, str]] = []
    for entry in header.split(","):
        tag, _, rest = entry.partition(";")
        quality = rest.strip().removeprefix("q=") or "1"
        weight = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
        if tag.strip() and weight > 0:
            wanted.append((-weight, len(wanted), tag.strip()))
    return [tag for _, _, tag in sorted(wanted)]


def describe_language(code: str, words: NullTranslations) -> Language:
    locale = Locale.parse(code)
    direction: Literal["ltr", "rtl"] = "rtl" if locale.text_direction == "rtl" else "ltr"
    name = locale.get_display_name(locale) or code
    return Language(code, name[:1].upper() + name[1:], direction, words)


def _compile(path: Path) -> GNUTranslations:
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=path.stem, abort_invalid=True))
    compiled.seek(0)
    return GNUTranslations(compiled)
