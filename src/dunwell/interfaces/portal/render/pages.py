"""Renders the portal's pages: a page is a struct that says what it shows, and a template.

Jinja has one set of templates for each language, compiled once in a process. What stands in a
message for its secrets is shown as dots.
"""

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.codes import CODE_MASK
from dunwell.contact.messages.facts import CHECK_MASK
from dunwell.contact.messages.formatting import render_line
from dunwell.contact.messages.links import TOKEN_MASK
from dunwell.core.workflows.word_differences import WordComparison
from dunwell.interfaces.landing.render.formats import build_page_filters
from dunwell.interfaces.landing.render.translating import TranslatedTemplates, fill
from dunwell.interfaces.landing.render.wording import Language
from dunwell.interfaces.portal.render.addresses import build_address, names_merchant
from dunwell.interfaces.portal.render.charts import Bar, draw_bars, draw_columns
from dunwell.interfaces.portal.render.formats import build_portal_filters
from dunwell.interfaces.portal.render.wording import PORTAL

# Each slice's own; no two are called the same.
TEMPLATES = sorted(PORTAL.glob("*/templates"))
_MASKS = (TOKEN_MASK, CODE_MASK, CHECK_MASK)
_ANY_MASK = re.compile("|".join(map(re.escape, _MASKS)))


class Page(msgspec.Struct, frozen=True, gc=False):
    """What one page shows, by the names that its template calls it."""

    template: ClassVar[str]
    # The entry of the navigation that it belongs to; "": none.
    area: ClassVar[str] = ""


class Person(msgspec.Struct, frozen=True, gc=False):
    """Who is signed in, as every page shows it."""

    name: str
    # Whether there is more than one merchant to choose from.
    has_choice: bool = False
    # Whether it may see what belongs to no merchant: people, installation.
    is_operator: bool = False


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What every page is told: for whom, at which merchant, in which language."""

    language: str
    # The languages to choose among.
    offered: tuple[str, ...]
    person: Person | None = None
    merchant: Merchant | None = None
    # What every form bears.
    form_token: str = ""
    # The names of the rights that the person has here.
    rights: frozenset[str] = frozenset()
    # Where the merchant is.
    today: date | None = None
    # What else the page's own address says, which the choice of a language carries on.
    carried: str = ""
    # What has just been done, by name (`_done.html`); "": nothing.
    done: str = ""
    # Where the page lives.
    path: str = ""

    @property
    def timezone(self) -> str:
        return self.merchant.configuration.timezone if self.merchant else "UTC"

    def address(self, page: str, /, **values: object) -> str:
        """Of a page, at the merchant of this one unless another is named (`build_address`)."""
        if names_merchant(page) and self.merchant is not None:
            values.setdefault("merchant_id", self.merchant.merchant_id)
        return build_address(page, **values)

    def may(self, right: str) -> bool:
        """Whether the use case would let the person; a page hides what it would not."""
        return right in self.rights


class Pages:
    """The portal's pages of one installation."""

    def __init__(
        self, languages: Mapping[str, Language], domain: str, style: str, icon: str,
        scripts: Mapping[str, str],
    ) -> None:  # fmt: skip
        """domain: ours, as an address bar shows it. style, icon: their addresses. scripts: the
        scripts', by name."""
        self.languages = languages
        self.codes = tuple(languages)
        self._environments = {code: load_environment(each) for code, each in languages.items()}
        self._shared = {
            "domain": domain, "style": style, "icon": icon, "scripts": SimpleNamespace(**scripts),
        }  # fmt: skip

    def read_words(self, language: str, template: str, name: str) -> Any:
        """What a template sets under this name, in the language: for files, which have no template
        of their own."""
        return getattr(self._environments[language].get_template(template).module, name)

    def render(self, frame: Frame, page: Page) -> bytes:
        values: dict[str, Any] = {
            **self._shared,
            "offered": [self.languages[code] for code in frame.offered],
            "to": frame.address, "may": frame.may, "carried": frame.carried,
            "person": frame.person, "merchant": frame.merchant, "timezone": frame.timezone,
            "form_token": frame.form_token, "today": frame.today, "area": page.area,
            "done": frame.done, "path": frame.path,
            # One for each page, so that its texts share a budget.
            "compare_words": WordComparison().compare,
            **{name: getattr(page, name) for name in page.__struct_fields__},
        }  # fmt: skip
        template = self._environments[frame.language].get_template(page.template)
        return template.render(values).encode()


@cache
def load_environment(language: Language) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        extensions=[TranslatedTemplates, "jinja2.ext.i18n", "jinja2.ext.do"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.globals.update(
        language=language, words=language.words, bar=Bar, rows=draw_bars, columns=draw_columns
    )
    environment.filters.update(
        build_page_filters(language.code), **build_portal_filters(language.code),
        line=render_line, fill=fill, masked=hide_secrets, described=describe_secrets,
    )  # fmt: skip
    install: Any = environment
    install.install_gettext_translations(language.words, newstyle=True)
    return environment


def hide_secrets(text: str) -> str:
    """A message's text, or its HTML, without its masks. In templates: `text | masked`."""
    for mask in _MASKS:
        text = text.replace(mask, "…")
    return text


def describe_secrets(text: str, link: str, code: str, check: str) -> Markup:
    """A message's text with words in the place of its masks. In templates:
    `text | described(link, code, check)`."""
    words = dict(zip(_MASKS, (link, code, check), strict=True))
    parts, place = [Markup()], 0
    for found in _ANY_MASK.finditer(text):
        description = Markup('<span class="described">[{}]</span>').format(words[found[0]])
        parts += [escape(text[place : found.start()]), description]
        place = found.end()
    return Markup().join([*parts, escape(text[place:])])
