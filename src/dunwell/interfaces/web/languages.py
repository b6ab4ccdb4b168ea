"""The languages of an interface's pages, from the gettext catalogues in its folder.

English is the language of the templates. Every other language is a set of catalogues, which are
compiled once in a process. Adding a language is adding a catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Literal

from babel.core import Locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

SOURCE_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    # The name of the language in the language itself.
    name: str
    direction: Literal["ltr", "rtl"]
    words: NullTranslations


def list_catalogues(folder: Path) -> Mapping[str, list[Path]]:
    """Return the catalogues at any depth of this folder, by language."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.po")):
        found.setdefault(path.stem, []).append(path)
    return found


@cache
def load_languages(folder: Path) -> Mapping[str, Language]:
    """Return English and each language that has catalogues in this folder, ordered by code."""
    words: dict[str, NullTranslations] = {SOURCE_LANGUAGE: NullTranslations()}
    words |= {code: _compile(code, paths) for code, paths in list_catalogues(folder).items()}
    return {code: _describe_language(code, words[code]) for code in sorted(words)}


@lru_cache(maxsize=4096)
def choose_language(
    offered: tuple[str, ...], chosen: str | None, claims: str | None, accepted: str, merchants: str
) -> str:
    """Return the first offered language of: the reader's choice, the claim's language, the
    browser's languages, the merchant's language, English. If none of them is offered, return the
    first language that is.

    accepted: the browser's Accept-Language header.
    """
    for wanted in (chosen, claims, *_read_accepted(accepted), merchants, SOURCE_LANGUAGE):
        code = (wanted or "").partition("-")[0].lower()
        if code in offered:
            return code
    return offered[0]


def _read_accepted(header: str) -> list[str]:
    """Return the language tags by descending weight. Entries that cannot be parsed are ignored."""
    wanted: list[tuple[float, int, str]] = []
    for entry in header.split(","):
        tag, _, rest = entry.partition(";")
        quality = rest.strip().removeprefix("q=") or "1"
        weight = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
        if tag.strip() and weight > 0:
            wanted.append((-weight, len(wanted), tag.strip()))
    return [tag for _, _, tag in sorted(wanted)]


def _describe_language(code: str, words: NullTranslations) -> Language:
    locale = Locale.parse(code)
    direction: Literal["ltr", "rtl"] = "rtl" if locale.text_direction == "rtl" else "ltr"
    name = locale.get_display_name(locale) or code
    return Language(code, name[:1].upper() + name[1:], direction, words)


def _compile(code: str, paths: list[Path]) -> GNUTranslations:
    """Compile several catalogues of one language into one."""
    whole, compiled = Catalog(locale=code), BytesIO()
    for path in paths:
        with path.open("rb") as file:
            for message in read_po(file, locale=code, abort_invalid=True):
                if message.id and not message.fuzzy:
                    whole.add(message.id, message.string, context=message.context)
    write_mo(compiled, whole)
    compiled.seek(0)
    return GNUTranslations(compiled)
