"""Renders the pages: one set of compiled templates for each language.

What is the same for all claims of a merchant (top, help, who writes) is rendered once per revision
of its configuration and kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dunwell.landing.creditor import Creditor, describe_creditor
from dunwell.landing.formats import build_filters
from dunwell.landing.translating import TranslatedTemplates
from dunwell.landing.wording import Language
from dunwell.merchants.account import Merchant
from dunwell.messages.formatting import render_line

TEMPLATES = Path(__file__).parent / "templates"
_MOST_KEPT = 20_000
# Where a form's token is put in.
_TOKENS_PLACE = "THE-TOKEN"
_Kept = TypeVar("_Kept")
_ICON = Markup(
    '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>'
)
_CIRCLE = Markup('<circle cx="12" cy="12" r="10"/>')
_ICONS = {
    "done": _ICON.format(_CIRCLE + Markup('<path d="m7.5 12.5 3 3 6-7"/>')),
    "wait": _ICON.format(_CIRCLE + Markup('<path d="M12 6.5V12l3.5 2"/>')),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A live session as its pages show it."""

    form_token: str
    minutes_left: int
    # It ends soon.
    is_warned: bool


@dataclass(frozen=True, slots=True)
class Frame:
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


class Pages:
    """The pages of one installation."""

    def __init__(self, languages: Mapping[str, Language], domain: str, style: str) -> None:
        """domain: ours, as an address bar shows it. style: the stylesheet's address."""
        self.languages = languages
        self.codes = tuple(languages)
        self._globals = {"domain": domain, "style": style, "icons": _ICONS}
        self._environments = {
            code: self._build_environment(language) for code, language in languages.items()
        }
        self._creditors: dict[tuple[Any, ...], Creditor] = {}
        self._parts: dict[tuple[Any, ...], Markup] = {}

    def render(self, template: str, frame: Frame, **values: Any) -> bytes:
        """One page. values: what its template names."""
        found = self._environments[frame.language].get_template(template)
        creditor = self._describe_creditor(frame.merchant)
        return found.render(
            creditor=creditor,
            query=frame.query,
            session=frame.session,
            part=partial(self._render_part, frame, creditor),
            end=self._render_end(frame),
            **values,
        ).encode()

    def _describe_creditor(self, merchant: Merchant | None) -> Creditor | None:
        if merchant is None:
            return None
        key = (merchant.merchant_id, merchant.revision, merchant.name)
        return _keep(self._creditors, key, partial(describe_creditor, merchant))

    def _render_part(self, frame: Frame, creditor: Creditor | None, name: str) -> Markup:
        merchant = frame.merchant
        whose = (merchant.merchant_id, merchant.revision, merchant.name) if merchant else None
        key = (name, whose, frame.language, frame.offered, frame.chosen)
        return _keep(self._parts, key, partial(self._render_new_part, frame, creditor, name))

    def _render_new_part(self, frame: Frame, creditor: Creditor | None, name: str) -> Markup:
        template = self._environments[frame.language].get_template(name)
        offered = [self.languages[code] for code in frame.offered]
        rendered = template.render(creditor=creditor, query=frame.query, offered=offered)
        return Markup(rendered)  # noqa: S704 - templates escape what they are given

    def _render_end(self, frame: Frame) -> Markup:
        """The session's own forms, of which only the token is new with each."""
        session = frame.session
        minutes_left = session.minutes_left if session else None
        key = ("_end.html", frame.language, frame.chosen, minutes_left)
        kept = _keep(self._parts, key, partial(self._render_new_end, frame, minutes_left))
        return kept.replace(_TOKENS_PLACE, session.form_token) if session else kept

    def _render_new_end(self, frame: Frame, minutes_left: int | None) -> Markup:
        template = self._environments[frame.language].get_template("_end.html")
        rendered = template.render(
            query=frame.query, minutes_left=minutes_left, form_token=_TOKENS_PLACE
        )
        return Markup(rendered)  # noqa: S704 - the same

    def _build_environment(self, language: Language) -> Environment:
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
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
