"""Renders the pages: a page is a struct that says what it shows, and a template that shows it.

Jinja has one set of templates for each language, compiled once in a process.
"""

from collections.abc import Mapping, MutableMapping
from datetime import date
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dunwell.accounts.installation.identity import FindOperator, Operator, find_nobody
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.formatting import render_line
from dunwell.interfaces.landing.render.addresses import LANGUAGE, build_address
from dunwell.interfaces.landing.render.creditor import (
    Creditor,
    ShownOperator,
    describe_creditor,
    describe_operator,
)
from dunwell.interfaces.landing.render.formats import build_page_filters
from dunwell.interfaces.landing.render.translating import TranslatedTemplates, fill
from dunwell.interfaces.landing.render.wording import Language

# Creditors whose descriptions a process keeps.
_MOST_KEPT = 1_000
_ICON = Markup(
    '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>'
)
_CIRCLE = Markup('<circle cx="12" cy="12" r="10"/>')
_ICONS = {
    "done": _ICON.format(_CIRCLE + Markup('<path d="m7.5 12.5 3 3 6-7"/>')),
    "wait": _ICON.format(_CIRCLE + Markup('<path d="M12 6.5V12l3.5 2"/>')),
}
# Each slice's own; no two are called the same.
TEMPLATES = sorted(Path(__file__).parents[1].glob("*/templates"))
# Templates are kept for good, in a plain dict.
_ALL = -1


class Page(msgspec.Struct, frozen=True, gc=False):
    """What one page shows, by the names that its template calls it."""

    template: ClassVar[str]


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A live session as its pages show it."""

    form_token: str
    minutes_left: int
    # It ends soon.
    is_warned: bool
    # Whether there is another hour to be had.
    can_stay: bool


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
    # Where the merchant is; none: the page bears no day.
    today: date | None = None
    # The id of a form that is kept when the session is extended from its page.
    kept_form: str = ""
    # Of the claim that the page is about (`build_address`); "": of none.
    handle: str = ""
    # The token of the link that the page belongs to, before the claim is opened.
    link_token: str = ""

    @property
    def notices_address(self) -> str:
        """The legal notice that names the creditor whenever the page knows one."""
        if self.link_token:
            return self.address("link_notices", token=self.link_token)
        return self.address("notices")

    def address(self, page: str, /, **values: object) -> str:
        """Of a page of ours, for this reader (`build_address`)."""
        if self.chosen is not None:
            values[LANGUAGE] = self.chosen
        return build_address(page, self.handle, **values)

    def bare_address(self, page: str, /) -> str:
        """The same for a form that brings its own query."""
        return build_address(page, self.handle)


class Pages:
    """The pages of one installation."""

    def __init__(  # noqa: PLR0913, PLR0917 - what all pages of an installation share
        self, languages: Mapping[str, Language], domain: str, style: str, icon: str,
        scripts: Mapping[str, str], phone: str | None = None,
        find_operator: FindOperator = find_nobody,
    ) -> None:  # fmt: skip
        """domain: ours, as an address bar shows it. style, icon: their addresses. scripts: the
        scripts', by name. phone: the operator's, where no creditor is known.
        find_operator: who runs the installation, at this moment."""
        self.find_operator = find_operator
        self._phone = phone
        self.languages = languages
        self.codes = tuple(languages)
        self._operator: tuple[Operator | None, ShownOperator] | None = None
        self._creditors: dict[int, tuple[Merchant, Creditor]] = {}
        self._environments = {code: load_environment(each) for code, each in languages.items()}
        self._shared = {
            "domain": domain, "style": style, "icon": icon, "scripts": SimpleNamespace(**scripts),
            "icons": _ICONS,
        }  # fmt: skip

    def render(self, frame: Frame, page: Page) -> bytes:
        values: dict[str, Any] = {
            **self._shared,
            "operator": self._find_shown_operator(),
            "creditor": self._find_creditor(frame.merchant) if frame.merchant else None,
            "offered": [self.languages[code] for code in frame.offered],
            "chosen": frame.chosen, "to": frame.address,
            "notices": frame.notices_address, "carried": frame.carried,
            "address_of": frame.bare_address,
            "session": frame.session, "today": frame.today, "kept_form": frame.kept_form,
            **{name: getattr(page, name) for name in page.__struct_fields__},
        }  # fmt: skip
        template = self._environments[frame.language].get_template(page.template)
        return template.render(values).encode()

    def _find_shown_operator(self) -> ShownOperator:
        """As it was described for the last page, unless it is another since."""
        operator = self.find_operator()
        if self._operator is None or self._operator[0] is not operator:
            self._operator = operator, describe_operator(operator, self._phone)
        return self._operator[1]

    def _find_creditor(self, merchant: Merchant) -> Creditor:
        """As it was described for the last page, unless something of it has changed since."""
        kept = self._creditors.get(merchant.merchant_id)
        if kept is not None and _is_same(kept[0], merchant):
            return kept[1]
        creditor = describe_creditor(merchant)
        self._creditors.pop(merchant.merchant_id, None)
        if len(self._creditors) >= _MOST_KEPT:
            self._creditors.pop(next(iter(self._creditors)))
        self._creditors[merchant.merchant_id] = merchant, creditor
        return creditor


def _is_same(one: Merchant, other: Merchant) -> bool:
    return (
        one.configuration is other.configuration
        and one.revision == other.revision
        and one.name == other.name
    )


class _PageEnvironment(Environment):
    """Its globals are all there before its first template is."""

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """As one dict: every page and every part it includes goes through all of them, which takes
        several times as long in a chain."""
        return {**self.globals, **(d or {})}


@cache
def load_environment(language: Language) -> Environment:
    environment = _PageEnvironment(
        loader=FileSystemLoader(TEMPLATES),
        extensions=[TranslatedTemplates, "jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=_ALL,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.globals.update(language=language, words=language.words)
    environment.filters.update(build_page_filters(language.code), line=render_line, fill=fill)
    install: Any = environment
    install.install_gettext_translations(language.words, newstyle=True)
    return environment
