"""Update the translation catalogues: add the texts that the code shows, sort them, and remove all
others.

A new text has an empty translation until someone translates it. The tests fail for a text that is
missing, empty, marked as fuzzy, or no longer used.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

SOURCE = Path(__file__).resolve().parent.parent / "src" / "dunwell"
CATALOGUES = SOURCE / "platform" / "text" / "catalogues"
# A text, or a text and its plural.
MessageId = str | tuple[str, str]
_OPTIONS = {
    "trimmed": "true", "newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true",
    "extensions": "jinja2.ext.do",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Audience:
    """The folders with the texts of one audience. A call of `translate` belongs to the audience of
    its folder; a `LazyText` always belongs to the staff."""

    name: str
    folders: tuple[str, ...]
    has_lazy_texts: bool = False


AUDIENCES = (
    Audience("debtors", ("contact", "cases", "adapters", "interfaces/landing")),
    Audience("staff", ("accounts", "operations", "interfaces/portal"), has_lazy_texts=True),
)


def extract_texts(audience: Audience) -> set[MessageId]:
    """Return every text that templates and modules show to this audience."""
    found: set[MessageId] = set()
    for folder in audience.folders:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix == ".py":
                found |= set(_extract_from_module(path, "translate"))
            elif path.parent.name == "templates" and path.suffix != ".pyc" and path.is_file():
                found |= set(_extract_from_template(path))
    if audience.has_lazy_texts:
        for path in sorted(SOURCE.rglob("*.py")):
            found |= set(_extract_from_module(path, "LazyText"))
    return found


def _extract_from_template(path: Path) -> Iterator[MessageId]:
    with path.open("rb") as file:
        for _, function, found, _ in babel_extract(file, ("gettext", "ngettext"), [], _OPTIONS):
            texts = [found] if isinstance(found, str) else [each for each in found or () if each]
            yield (texts[0], texts[1]) if function == "ngettext" else texts[0]


def _extract_from_module(path: Path, function: str) -> Iterator[MessageId]:
    yield from (text for text, _ in _list_calls(path, function))


def list_given_facts() -> dict[str, set[str]]:
    """Return the placeholders of each `LazyText`. A translation can use one that the English text
    omits."""
    given: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for text, facts in _list_calls(path, "LazyText"):
            given.setdefault(text, set()).update(facts)
    return given


def _list_calls(path: Path, function: str) -> Iterator[tuple[str, list[str]]]:
    source = path.read_text()
    if f"{function}(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and _name(node.func) == function:
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value, [each.arg for each in node.keywords if each.arg]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def read_catalogue(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.stem, abort_invalid=True)


def write_catalogue(path: Path, texts: set[MessageId]) -> None:
    """Keep the translations of these texts, add the missing texts, and remove all others."""
    old, new, written = read_catalogue(path), Catalog(locale=path.stem), BytesIO()
    for text in texts:
        known = old.get(text)
        message = new.add(text, known.string if known else "")
        message.flags = known.flags & {"fuzzy"} if known else set()
    write_po(written, new, width=0, omit_header=True, sort_output=True)
    head, _, _ = path.read_text().partition("\n\n")
    path.write_text(f"{head}\n\n{written.getvalue().decode().strip()}\n")


def main() -> None:
    for audience in AUDIENCES:
        texts = extract_texts(audience)
        for path in sorted((CATALOGUES / audience.name).glob("*.po")):
            write_catalogue(path, texts)
            missing = [each.id for each in read_catalogue(path) if each.id and not each.string]
            for text in missing:
                print(f"{audience.name}/{path.name}: no translation of {text!r}")


if __name__ == "__main__":
    main()
