"""Renders the pages: one set of compiled templates for each language.

What is the same for all claims of a merchant is rendered once per revision of its configuration and
kept: top, help, who writes; and pages that many read alike, with slots for what is one reader's.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
from jinja2 import Template
from markupsafe import Markup

from dunwell.landing.render.creditor import Creditor, describe_creditor, dial
from dunwell.landing.render.kept import Kept
from dunwell.landing.render.slots import Slot
from dunwell.landing.render.templating import build_environment, make_safe
from dunwell.landing.render.wording import Language
from dunwell.merchants.merchant import Merchant

_MOST_KEPT = 5_000
# Of pages with slots, and how long one may be: a claim of many items is nobody else's.
_MOST_SLOTTED = 2_000
_LONGEST_SLOTTED = 16 * 1024
# Stands before and behind a slot's name: neither templates nor the database can hold one.
_MARK = "\0"
_ICON = Markup(
    '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>'
)
_CIRCLE = Markup('<circle cx="12" cy="12" r="10"/>')
_ICONS = {
    "done": _ICON.format(_CIRCLE + Markup('<path d="m7.5 12.5 3 3 6-7"/>')),
    "wait": _ICON.format(_CIRCLE + Markup('<path d="M12 6.5V12l3.5 2"/>')),
}


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A live session as its pages show it."""

    form_token: str
    minutes_left: int
    # It ends soon.
    is_warned: bool


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What every page is told: for whom, and in which language."""

    language: str
    # The languages to choose among.
    offered: tuple[str, ...]
    # The reader's own choice, which addresses carry on; none: it was found out.
    chosen: str | None
    merchant: Merchant | None = None
    session: Shown | None = None
    # What else the page's own address says, which the choice of a language carries on.
    carried: str = ""
    # The id of a form that is kept when the session is extended from its page.
    kept_form: str = ""

    @property
    def query(self) -> str:
        """What our addresses end with, so that they keep the choice of language."""
        return f"?lang={self.chosen}" if self.chosen else ""


class _Parts(dict[str, Markup]):
    """The parts of one merchant's pages in one language, each rendered when it is first shown."""

    def __init__(self, render: Callable[[str], Markup]) -> None:
        super().__init__()
        self._render = render

    def __missing__(self, name: str) -> Markup:
        part = self[name] = self._render(name)
        return part


class _Places(dict[str, Markup]):
    """Of the fields that something was typed into; the others are empty."""

    def __missing__(self, name: str) -> Markup:
        return Markup()


class _Slotted:
    """Rendered once, with slots that are filled anew each time."""

    def __init__(self, rendered: str, slots: Mapping[str, Slot]) -> None:
        """slots: any that are to be filled in the same way."""
        pieces = rendered.split(_MARK)
        self.length = len(rendered)
        self._pieces = [piece.encode() for piece in pieces]
        self._places: list[tuple[int, str, Any]] = []
        for number in range(1, len(pieces), 2):
            name, _, place = pieces[number].partition(".")
            is_listed = bool(place) and not isinstance(slots[name], dict)
            self._places.append((number, name, int(place) if is_listed else place or None))

    def fill(self, slots: Mapping[str, Any]) -> bytes:
        """slots: what is bytes is put in as it is."""
        pieces = self._pieces.copy()
        for number, name, place in self._places:
            filling = slots[name] if place is None else slots[name][place]
            kind = type(filling)
            if kind is not bytes:
                filling = (filling if kind is Markup else make_safe(filling)).encode()
            pieces[number] = filling
        return b"".join(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class _Furniture:
    """What the pages of one merchant in one language have in common; equal to itself alone."""

    creditor: Creditor | None
    # With a slot for what the choice of a language carries on.
    top: _Slotted
    parts: _Parts


class Pages:
    """The pages of one installation."""

    def __init__(
        self, languages: Mapping[str, Language], domain: str, style: str,
        scripts: Mapping[str, str], phone: str | None = None,
    ) -> None:  # fmt: skip
        """domain: ours, as an address bar shows it. style: the stylesheet's address. scripts: the
        scripts', by name. phone: the operator's, where no creditor is known."""
        self.languages = languages
        self.codes = tuple(languages)
        shared = {
            "domain": domain, "style": style, "scripts": SimpleNamespace(**scripts),
            "icons": _ICONS, "operator": SimpleNamespace(phone=phone, dialled=dial(phone or "")),
        }  # fmt: skip
        self._environments = {
            code: build_environment(language, shared) for code, language in languages.items()
        }
        self._templates: Kept[Template] = Kept(_MOST_KEPT)
        self._furniture: Kept[_Furniture] = Kept(_MOST_KEPT)
        self._slotted: Kept[_Slotted] = Kept(_MOST_SLOTTED)
        self._ends: Kept[_Slotted] = Kept(_MOST_KEPT)

    def render(self, template: str, frame: Frame, **values: Any) -> bytes:
        """One page. values: what its template names."""
        furniture = self._find_furniture(frame)
        values["creditor"] = furniture.creditor
        values["parts"] = furniture.parts
        values["query"] = frame.query
        values["chosen"] = frame.chosen
        values["session"] = frame.session
        values["top"] = Markup(_render_top(furniture, frame).decode())  # noqa: S704 - a template's
        values["end"] = Markup(self._render_end(frame).decode())  # noqa: S704 - the same
        return self._find_template(frame.language, template).render(values).encode()

    def render_slotted(
        self, template: str, frame: Frame, same: Mapping[str, Hashable], slots: Mapping[str, Slot]
    ) -> bytes:
        """As `render`, for a page that reads the same to all whose `same` is the same, but for its
        slots. Its template is given nothing else, so that nobody is shown what is another's."""
        furniture, session = self._find_furniture(frame), frame.session
        shapes = [_find_shape(slot) for slot in slots.values() if not isinstance(slot, str)]
        key = (template, furniture, session is None, *same.items(), *slots, *shapes)
        slotted = self._slotted.get(key)
        if slotted is None:
            slotted = self._make_slotted(template, frame, same, slots)
            if slotted.length <= _LONGEST_SLOTTED:
                self._slotted.keep(key, slotted)
        return slotted.fill(
            {
                **slots, "top": _render_top(furniture, frame), "end": self._render_end(frame),
                "form_token": session.form_token if session else "",
            }
        )  # fmt: skip

    def render_part(self, template: str, frame: Frame, **values: Any) -> Markup:
        """What fills a slot."""
        return self._render_part(frame.language, values, template)

    def _make_slotted(
        self, template: str, frame: Frame, same: Mapping[str, Hashable], slots: Mapping[str, Slot]
    ) -> _Slotted:
        furniture = self._find_furniture(frame)
        values = {
            **same, **{name: _find_places(name, slot) for name, slot in slots.items()},
            "creditor": furniture.creditor, "parts": furniture.parts, "top": _name_slot("top"),
            "query": frame.query, "chosen": frame.chosen,
            "session": _SLOTTED_SESSION if frame.session else None,
            "end": _name_slot("end"),
        }  # fmt: skip
        return _Slotted(self._find_template(frame.language, template).render(values), slots)

    def _find_template(self, language: str, name: str) -> Template:
        load = partial(self._environments[language].get_template, name)
        return self._templates.find((language, name), load)

    def _find_furniture(self, frame: Frame) -> _Furniture:
        merchant = frame.merchant
        whose = (merchant.merchant_id, merchant.revision, merchant.name) if merchant else None
        key = (whose, frame.language, frame.offered, frame.chosen)
        return self._furniture.find(key, partial(self._make_furniture, frame))

    def _make_furniture(self, frame: Frame) -> _Furniture:
        creditor = describe_creditor(frame.merchant) if frame.merchant else None
        offered = [self.languages[code] for code in frame.offered]
        values = {"creditor": creditor, "query": frame.query, "offered": offered}
        parts = _Parts(partial(self._render_part, frame.language, values))
        carrying = {**values, "carried": _name_slot("carried")}
        top = _Slotted(self._render_part(frame.language, carrying, "_top.html"), {})
        return _Furniture(creditor, top, parts)

    def _render_part(self, language: str, values: Mapping[str, Any], name: str) -> Markup:
        rendered = self._find_template(language, name).render(values)
        return Markup(rendered)  # noqa: S704 - templates escape what they are given

    def _render_end(self, frame: Frame) -> bytes:
        """The session's own forms, of which only the token is new with each."""
        session = frame.session
        minutes_left = session.minutes_left if session else None
        key = (frame.language, frame.chosen, frame.kept_form, minutes_left)
        slotted = self._ends.find(key, partial(self._make_end, frame, minutes_left))
        return slotted.fill({"form_token": session.form_token if session else ""})

    def _make_end(self, frame: Frame, minutes_left: int | None) -> _Slotted:
        values = {
            "query": frame.query, "minutes_left": minutes_left,
            "form_token": _name_slot("form_token"), "kept_form": frame.kept_form,
        }  # fmt: skip
        return _Slotted(self._render_part(frame.language, values, "_end.html"), {})


def _render_top(furniture: _Furniture, frame: Frame) -> bytes:
    return furniture.top.fill({"carried": f"{frame.carried}&" if frame.carried else ""})


def _find_shape(slot: Slot) -> int | tuple[str, ...]:
    """What a rendered page has places for: so many, or of these names."""
    return tuple(slot) if isinstance(slot, dict) else len(slot)


def _find_places(name: str, slot: Slot) -> Markup | Sequence[Markup] | Mapping[str, Markup]:
    """What a template is given in place of what fills the slots."""
    if isinstance(slot, str):
        return _name_slot(name)
    if isinstance(slot, dict):
        return _Places({field: _name_slot(f"{name}.{field}") for field in slot})
    return [_name_slot(f"{name}.{place}") for place in range(len(slot))]


def _name_slot(name: str) -> Markup:
    return Markup(f"{_MARK}{name}{_MARK}")  # noqa: S704 - a name of ours


_SLOTTED_SESSION = Shown(_name_slot("form_token"), 0, is_warned=False)
