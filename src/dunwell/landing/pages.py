"""Renders the pages: one set of compiled templates for each language.

What is the same for all claims of a merchant (top, help, who writes) is rendered once per revision
of its configuration and kept.
"""

import builtins
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from dunwell.landing.creditor import Creditor, describe_creditor
from dunwell.landing.formats import build_filters
from dunwell.landing.translating import TranslatedTemplates
from dunwell.landing.wording import Language
from dunwell.merchants.account import Merchant
from dunwell.messages.formatting import render_line

TEMPLATES = Path(__file__).parent / "templates"
_MOST_KEPT = 5_000
# Where a form's token is put in.
_TOKENS_PLACE = "THE-TOKEN"
_INCLUDED = re.compile(r'\{% include "(?P<name>\w+\.html)" %\}\n?')
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

    @property
    def query(self) -> str:
        """What our addresses end with, so that they keep the choice of language."""
        return f"?lang={self.chosen}" if self.chosen else ""


class _Environment(Environment):
    """Attributes are attributes: what a value lacks is not looked for among its items, which costs
    a page's every mention of a value."""

    getattr = staticmethod(builtins.getattr)  # type: ignore[assignment] # called as the method is


class _WholeTemplates(FileSystemLoader):
    """Templates with what they include put in before they are compiled, as a template of its own
    costs a context whenever it is rendered."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        source, path, is_current = super().get_source(environment, template)
        whole = _INCLUDED.sub(lambda found: self._get_part(environment, found["name"]), source)
        return whole, path, is_current

    def _get_part(self, environment: Environment, name: str) -> str:
        """As Jinja has it: without the end of its last line."""
        return self.get_source(environment, name)[0].removesuffix("\n")


class _Parts(dict[str, Markup]):
    """The parts of one merchant's pages in one language, each rendered when it is first shown."""

    def __init__(self, render: Callable[[str], Markup]) -> None:
        super().__init__()
        self._render = render

    def __missing__(self, name: str) -> Markup:
        part = self[name] = self._render(name)
        return part


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
        self._globals = {
            "domain": domain,
            "style": style,
            "scripts": SimpleNamespace(**scripts),
            "icons": _ICONS,
        }
        self._environments = {
            code: self._build_environment(language) for code, language in languages.items()
        }
        self._templates: dict[tuple[Any, ...], Template] = {}
        self._furniture: dict[tuple[Any, ...], _Furniture] = {}
        self._ends: dict[tuple[Any, ...], Sequence[str]] = {}

    def render(self, template: str, frame: Frame, **values: Any) -> bytes:
        """One page. values: what its template names."""
        furniture = self._find_furniture(frame)
        values["creditor"] = furniture.creditor
        values["parts"] = furniture.parts
        values["query"] = frame.query
        values["session"] = frame.session
        values["end"] = self._render_end(frame)
        return self._find_template(frame.language, template).render(values).encode()

    def _find_template(self, language: str, name: str) -> Template:
        load = partial(self._load_template, language, name)
        return _keep(self._templates, (language, name), load)

    def _load_template(self, language: str, name: str) -> Template:
        template = self._environments[language].get_template(name)
        # Flat, as every page begins with a copy: what Jinja gives is a chain of mappings.
        template.globals = dict(template.globals)
        return template

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
        key = (frame.language, frame.chosen, minutes_left)
        pieces = _keep(self._ends, key, partial(self._render_pieces, frame, minutes_left))
        form_token = session.form_token if session else ""
        return Markup(form_token.join(pieces))  # noqa: S704 - a token is letters, digits, - and _

    def _render_pieces(self, frame: Frame, minutes_left: int | None) -> Sequence[str]:
        """What stands around the tokens."""
        values = {
            "query": frame.query, "minutes_left": minutes_left, "form_token": _TOKENS_PLACE,
        }  # fmt: skip
        return str(self._render_part(frame.language, values, "_end.html")).split(_TOKENS_PLACE)

    def _build_environment(self, language: Language) -> Environment:
        environment = _Environment(
            loader=_WholeTemplates(TEMPLATES),
            extensions=[TranslatedTemplates, "jinja2.ext.i18n"],
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.policies["ext.i18n.trimmed"] = True
        environment.globals.update(self._globals, language=language, words=language.words)
        environment.filters.update(build_filters(language.code), line=render_line)
        install: Any = environment
        install.install_gettext_translations(language.words, newstyle=True)
        return environment


def _keep(
    kept: dict[tuple[Any, ...], _Kept], key: tuple[Any, ...], make: Callable[[], _Kept]
) -> _Kept:
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[key] = make()
    return found
