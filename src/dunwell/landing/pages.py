"""Renders the pages: one set of compiled templates for each language.

What is the same for all claims of a merchant (top, help, who writes) is rendered once per revision
of its configuration and kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec
from jinja2 import Template
from markupsafe import Markup, escape

from dunwell.landing.creditor import Creditor, describe_creditor
from dunwell.landing.templating import build_environment
from dunwell.landing.wording import Language
from dunwell.merchants.account import Merchant

_MOST_KEPT = 5_000
# Where a form's token is put in.
_TOKENS_PLACE = "THE-TOKEN"
# How the address of each language begins.
_CHOICE = Markup('href="?')
_Kept = TypeVar("_Kept")
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

    def carry(self, carried: str) -> "_Parts":
        """The same, with what the choice of a language carries on."""
        choice = _CHOICE + escape(f"{carried}&")
        return _Parts(lambda name: self[name].replace(_CHOICE, choice))


@dataclass(frozen=True, slots=True)
class _Furniture:
    """What the pages of one merchant in one language have in common."""

    creditor: Creditor | None
    parts: _Parts


class Pages:
    """The pages of one installation."""

    def __init__(
        self, languages: Mapping[str, Language], domain: str, style: str, scripts: Mapping[str, str]
    ) -> None:
        """domain: ours, as an address bar shows it. style: the stylesheet's address. scripts: the
        scripts', by name."""
        self.languages = languages
        self.codes = tuple(languages)
        shared = {
            "domain": domain, "style": style, "scripts": SimpleNamespace(**scripts),
            "icons": _ICONS,
        }  # fmt: skip
        self._environments = {
            code: build_environment(language, shared) for code, language in languages.items()
        }
        self._templates: dict[tuple[Any, ...], Template] = {}
        self._furniture: dict[tuple[Any, ...], _Furniture] = {}
        self._ends: dict[tuple[Any, ...], Sequence[str]] = {}

    def render(self, template: str, frame: Frame, **values: Any) -> bytes:
        """One page. values: what its template names."""
        furniture = self._find_furniture(frame)
        values["creditor"] = furniture.creditor
        parts = furniture.parts
        values["parts"] = parts.carry(frame.carried) if frame.carried else parts
        values["query"] = frame.query
        values["session"] = frame.session
        values["end"] = self._render_end(frame)
        return self._find_template(frame.language, template).render(values).encode()

    def _find_template(self, language: str, name: str) -> Template:
        load = partial(self._environments[language].get_template, name)
        return _keep(self._templates, (language, name), load)

    def _find_furniture(self, frame: Frame) -> _Furniture:
        merchant = frame.merchant
        whose = (merchant.merchant_id, merchant.revision, merchant.name) if merchant else None
        key = (whose, frame.language, frame.offered, frame.chosen)
        return _keep(self._furniture, key, partial(self._make_furniture, frame))

    def _make_furniture(self, frame: Frame) -> _Furniture:
        creditor = describe_creditor(frame.merchant) if frame.merchant else None
        offered = [self.languages[code] for code in frame.offered]
        values = {"creditor": creditor, "query": frame.query, "offered": offered}
        return _Furniture(creditor, _Parts(partial(self._render_part, frame.language, values)))

    def _render_part(self, language: str, values: Mapping[str, Any], name: str) -> Markup:
        rendered = self._find_template(language, name).render(values)
        return Markup(rendered)  # noqa: S704 - templates escape what they are given

    def _render_end(self, frame: Frame) -> Markup:
        """The session's own forms, of which only the token is new with each."""
        session = frame.session
        minutes_left = session.minutes_left if session else None
        key = (frame.language, frame.chosen, frame.kept_form, minutes_left)
        pieces = _keep(self._ends, key, partial(self._render_pieces, frame, minutes_left))
        form_token = session.form_token if session else ""
        return Markup(form_token.join(pieces))  # noqa: S704 - a token is letters, digits, - and _

    def _render_pieces(self, frame: Frame, minutes_left: int | None) -> Sequence[str]:
        """What stands around the tokens."""
        values = {
            "query": frame.query, "minutes_left": minutes_left, "form_token": _TOKENS_PLACE,
            "kept_form": frame.kept_form,
        }  # fmt: skip
        return str(self._render_part(frame.language, values, "_end.html")).split(_TOKENS_PLACE)


def _keep(
    kept: dict[tuple[Any, ...], _Kept], key: tuple[Any, ...], make: Callable[[], _Kept]
) -> _Kept:
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[key] = make()
    return found
