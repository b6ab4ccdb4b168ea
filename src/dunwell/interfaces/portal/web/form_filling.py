"""Restore stored values into a form of a rendered page.

The page's HTML is parsed, and each value is written into the field of the same name. This works for
every form; no form needs code of its own. Hidden fields, passwords and files are not filled, so a
form that checks a revision checks the current one. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

_NOT_FILLED = frozenset({"hidden", "password", "file", "submit", "button", "image", "reset"})
_CHECKABLE = frozenset({"checkbox", "radio"})
_Attributes = dict[str, str | None]


@dataclass(slots=True)
class _Piece:
    """A tag, a text or a comment of the page."""

    raw: str
    tag: str = ""
    attributes: _Attributes = field(default_factory=dict)
    # The form that contains the piece, or None.
    form: int | None = None

    @property
    def name(self) -> str:
        return self.attributes.get("name") or ""

    @property
    def is_field(self) -> bool:
        kind = self.attributes.get("type") or "text"
        return self.tag in ("textarea", "select") or (
            self.tag == "input" and kind not in _NOT_FILLED
        )


def fill_form(
    html: str, path: str, values: Mapping[str, Sequence[str]], *,
    should_fill: Callable[[str], bool], notice: Callable[[Sequence[str]], str],
) -> str | None:  # fmt: skip
    """Return the page with the values in its form. Return None if the page has no such form.

    `path` is the path to which the form is submitted: its action, or else the page's URL.
    `should_fill` returns whether a field of this name is filled. `notice` returns the HTML to
    insert before the form; its argument has the values whose fields are no longer in the form.
    """
    pieces = _PageParser.parse_page(html)
    form = _choose_form(pieces, path, frozenset(values))
    if form is None:
        return None
    filler = _Filler(values, should_fill)
    filled = [filler.fill(each) if each.form == form else each.raw for each in pieces]
    start = next(index for index, each in enumerate(pieces) if each.form == form)
    filled.insert(start, str(notice([*filler.list_unplaced()])))
    return "".join(filled)


class _PageParser(HTMLParser):
    """Splits a page into pieces. Joined in order, the pieces are the page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[_Piece] = []
        self._forms = 0
        self._form: int | None = None

    @classmethod
    def parse_page(cls, html: str) -> list[_Piece]:
        parser = cls()
        parser.feed(html)
        parser.close()
        return parser.pieces

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form":
            self._form, self._forms = self._forms, self._forms + 1
        self._add(self.get_starttag_text() or "", tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(self.get_starttag_text() or "", tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._add(f"</{tag}>", f"/{tag}")
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_entityref(self, name: str) -> None:
        self._add(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._add(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self._add(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._add(f"<!{decl}>")

    def _add(self, raw: str, tag: str = "", attributes: _Attributes | None = None) -> None:
        self.pieces.append(_Piece(raw, tag, attributes or {}, self._form))


class _Filler:
    """Writes the values into the pieces of one form, in order."""

    def __init__(
        self, values: Mapping[str, Sequence[str]], should_fill: Callable[[str], bool]
    ) -> None:
        self._values = values
        self._should_fill = should_fill
        # The number of filled fields by name. A name may occur several times, as in table rows.
        self._filled_counts: dict[str, int] = {}
        self._placed: set[tuple[str, str]] = set()
        self._select: tuple[str, str] | None = None
        self._is_in_textarea = False

    def fill(self, piece: _Piece) -> str:
        if self._is_in_textarea:
            self._is_in_textarea = piece.tag != "/textarea"
            return "" if self._is_in_textarea else piece.raw
        if piece.tag == "/select":
            self._select = None
        if piece.tag == "option" and self._select is not None:
            return self._fill_option(piece, *self._select)
        if piece.is_field and self._should_fill(piece.name):
            return self._fill_field(piece)
        return piece.raw

    def list_unplaced(self) -> Iterator[str]:
        """Yield the values that no field of the form has taken."""
        for name, values in self._values.items():
            yield from (each for each in values if each and (name, each) not in self._placed)

    def _fill_field(self, piece: _Piece) -> str:
        kind = piece.attributes.get("type") or ""
        if piece.tag == "input" and kind in _CHECKABLE:
            return self._fill_box(piece)
        value = self._next_value(piece.name)
        if value is None:
            return piece.raw
        if piece.tag != "select":
            self._placed.add((piece.name, value))
        if piece.tag == "select":
            self._select = (piece.name, value)
            return piece.raw
        if piece.tag == "textarea":
            self._is_in_textarea = True
            return f"{piece.raw}\n{escape(value, quote=False)}"
        return _render_tag({**piece.attributes, "value": value}, piece.tag)

    def _fill_box(self, piece: _Piece) -> str:
        """Fill a checkbox or radio button. It is selected if its value is among the values."""
        attributes = {name: text for name, text in piece.attributes.items() if name != "checked"}
        value = piece.attributes.get("value") or "on"
        if value in self._values.get(piece.name, ()):
            self._placed.add((piece.name, value))
            attributes["checked"] = None
        return _render_tag(attributes, piece.tag)

    def _fill_option(self, piece: _Piece, name: str, chosen: str) -> str:
        attributes = {key: text for key, text in piece.attributes.items() if key != "selected"}
        if attributes.get("value") == chosen:
            self._placed.add((name, chosen))
            attributes["selected"] = None
        return _render_tag(attributes, piece.tag)

    def _next_value(self, name: str) -> str | None:
        """Return the next value for a field of this name, or None if all are used."""
        values, index = self._values.get(name, []), self._filled_counts.get(name, 0)
        if index >= len(values):
            return None
        self._filled_counts[name] = index + 1
        return values[index]


def _choose_form(pieces: Sequence[_Piece], path: str, names: frozenset[str]) -> int | None:
    """Choose the form that is submitted to this path and has the most of the named fields."""
    candidates = {
        piece.form
        for piece in pieces
        if piece.tag == "form"
        and piece.attributes.get("method") == "post"
        and (piece.attributes.get("action") or path).partition("?")[0] == path
    }
    matching_fields = {
        form: len({piece.name for piece in pieces if piece.form == form and piece.is_field} & names)
        for form in candidates
        if form is not None
    }
    best = max(matching_fields, key=lambda form: matching_fields[form], default=None)
    return best if best is not None and matching_fields[best] else None


def _render_tag(attributes: _Attributes, tag: str) -> str:
    rendered = (
        name if value is None else f'{name}="{escape(value)}"'
        for name, value in attributes.items()
    )  # fmt: skip
    return f"<{' '.join([tag, *rendered])}>"
