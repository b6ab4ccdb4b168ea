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
from dunwell.landing.wording import Language
from dunwell.merchants.account import Merchant
from dunwell.messages.formatting import render_line

TEMPLATES = Path(__file__).parent / "templates"
_MOST_KEPT = 20_000
_Kept = TypeVar("_Kept")
_ICONS = {
    "done": '<circle cx="12" cy="12" r="10"/><path d="m7.5 12.5 3 3 6-7"/>',
    "wait": '<circle cx="12" cy="12" r="10"/><path d="M12 6.5V12l3.5 2"/>',
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

    def link(self, path: str) -> str:
        """An address of ours that keeps the choice of language."""
        place, mark, fragment = path.partition("#")
        return f"{place}?lang={self.chosen}{mark}{fragment}" if self.chosen else path


class Pages:
    """The pages of one installation."""

    def __init__(self, languages: Mapping[str, Language], domain: str, style: str) -> None:
        """domain: ours, as an address bar shows it. style: the stylesheet's address."""
        self.languages = languages
        self._globals = {"domain": domain, "style": style, "icon": _render_icon}
        self._environments = {
            code: self._build_environment(language) for code, language in languages.items()
        }
        self._creditors: dict[tuple[Any, ...], Creditor] = {}
        self._parts: dict[tuple[Any, ...], Markup] = {}

    def render(self, template: str, frame: Frame, **values: Any) -> bytes:
        """One page. values: what its template names."""
        found = self._environments[frame.language].get_template(template)
        shared = {"creditor": self._describe_creditor(frame.merchant), "href": frame.link}
        return found.render(
            **shared,
            session=frame.session,
            part=partial(self._render_part, frame, shared),
            form_token=partial(_render_form_token, frame.session),
            **values,
        ).encode()

    def translate(self, language: str, text: str) -> str:
        return self.languages[language].words.gettext(text)

    def _describe_creditor(self, merchant: Merchant | None) -> Creditor | None:
        if merchant is None:
            return None
        key = (merchant.merchant_id, merchant.revision, merchant.name)
        return _keep(self._creditors, key, partial(describe_creditor, merchant))

    def _render_part(self, frame: Frame, shared: Mapping[str, Any], name: str) -> Markup:
        merchant = frame.merchant
        whose = (merchant.merchant_id, merchant.revision, merchant.name) if merchant else None
        key = (name, whose, frame.language, frame.offered, frame.chosen)
        return _keep(self._parts, key, partial(self._render_new_part, frame, shared, name))

    def _render_new_part(self, frame: Frame, shared: Mapping[str, Any], name: str) -> Markup:
        template = self._environments[frame.language].get_template(name)
        offered = [self.languages[code] for code in frame.offered]
        return Markup(template.render(shared, offered=offered))  # noqa: S704 - escapes itself

    def _build_environment(self, language: Language) -> Environment:
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            extensions=["jinja2.ext.i18n"],
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.policies["ext.i18n.trimmed"] = True
        environment.globals.update(self._globals, language=language, line=render_line)
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


def _render_form_token(session: Shown | None) -> Markup:
    assert session is not None
    return Markup('<input type="hidden" name="token" value="{}">').format(session.form_token)


def _render_icon(name: str) -> Markup:
    return Markup(  # noqa: S704 - drawings of this module
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">'
        f"{_ICONS[name]}</svg>"
    )
