"""The words of the portal by language: English stands in the templates, and each slice has its
catalogues beside them. They are compiled once in a process."""

from collections.abc import Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from dunwell.interfaces.landing.render.wording import SOURCE_LANGUAGE, Language, describe_language

PORTAL = Path(__file__).parents[1]


def list_catalogues() -> Mapping[str, list[Path]]:
    """By language, each slice's."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PORTAL.glob("*/catalogues/*.po")):
        found.setdefault(path.stem, []).append(path)
    return found


@cache
def load_languages() -> Mapping[str, Language]:
    """The languages there are, by code: English and one for each that has catalogues."""
    words: dict[str, NullTranslations] = {SOURCE_LANGUAGE: NullTranslations()}
    words |= {code: _compile(code, paths) for code, paths in list_catalogues().items()}
    return {code: describe_language(code, words[code]) for code in sorted(words)}


def _compile(code: str, paths: list[Path]) -> GNUTranslations:
    whole, compiled = Catalog(locale=code), BytesIO()
    for path in paths:
        with path.open("rb") as file:
            for message in read_po(file, locale=code, abort_invalid=True):
                if message.id:
                    whole.add(message.id, message.string)
    write_mo(compiled, whole)
    compiled.seek(0)
    return GNUTranslations(compiled)
