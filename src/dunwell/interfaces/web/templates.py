"""The templates of pages: one Jinja environment for each language, compiled once in a process.

Translations are inserted before a template is compiled, so that no text is looked up while a page
is rendered. Texts with a plural are left to Jinja's own extension, which looks them up by number.
"""

import re
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import date
from gettext import NullTranslations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.environment import Environment
from jinja2.ext import Extension
from markupsafe import Markup

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.interfaces.web.formats import build_page_filters
from dunwell.platform.text.translation import Language

_TEXT = re.compile(
    r"\{% trans\s(?P<values>[^%]*)%\}"
    r"(?P<text>(?:(?!\{% (?:pluralize|endtrans) %\}).)*)\{% endtrans %\}",
    re.DOTALL,
)
# A no-break space is part of the text, as in the catalogues.
_WHITE_SPACE = " \t\r\n\f\v"
_WHITE_SPACE_RUN = re.compile(f"[{_WHITE_SPACE}]+")
# A text that is passed to a macro, with or without values. A long one consists of several strings.
_GETTEXT_CALL = re.compile(r'\bgettext\(\s*(?P<text>"[^"\\]*"(?:\s+"[^"\\]*")*)(?P<end>\)|,\s)')
_STRING = re.compile(r'"([^"]*)"')
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_TRANSLATED_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class Page(msgspec.Struct, frozen=True, gc=False):
    """The content of one page, by the names in its template."""

    template: ClassVar[str]
    # The entry of the portal's navigation to which the page belongs, or "".
    area: ClassVar[str] = ""


class PageContext(msgspec.Struct, frozen=True, gc=False):
    """The values that every page of an interface has."""

    language: str
    # The available languages.
    offered: tuple[str, ...]
    merchant: Merchant | None = None
    # The merchant's current day, None if the page shows no day.
    today: date | None = None
    # The query of the page's address without the choice of language. Choosing a language keeps it.
    kept_query: str = ""


class PageRenderer:
    """Renders the pages of one interface."""

    def __init__(
        self, languages: Mapping[str, Language], environments: Mapping[str, Environment],
        domain: str, stylesheet: str, assets: Mapping[str, str],
    ) -> None:  # fmt: skip
        """`environments` has the templates of each language. `domain` is the host name of the
        pages. `stylesheet` is the name of the stylesheet among the assets. `assets` has the
        addresses of stylesheet, icon and scripts by name."""
        self.languages = languages
        self.codes = tuple(languages)
        self._environments = environments
        self._shared: dict[str, Any] = {
            "domain": domain, "style": assets[stylesheet], "icon": assets["icon"],
            "scripts": SimpleNamespace(**assets),
        }  # fmt: skip

    def get_variable(self, language: str, template: str, name: str) -> Any:
        """Return the variable or macro with this name that a template defines, for callers
        outside templates."""
        return getattr(self._environments[language].get_template(template).module, name)

    def render_page(self, context: PageContext, page: Page, values: Mapping[str, Any]) -> bytes:
        """Render a page. `values` are those that this interface adds to each of its pages."""
        template = self._environments[context.language].get_template(page.template)
        offered = [self.languages[code] for code in context.offered]
        shown = {name: getattr(page, name) for name in page.__struct_fields__}
        page_values = {"offered": offered, "kept_query": context.kept_query, "today": context.today}
        return template.render({**self._shared, **page_values, **values, **shown}).encode()


class _PageEnvironment(Environment):
    """An environment whose globals must all be set before the first template is loaded."""

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return a single dict. Each page and each included part reads all globals, which takes
        several times as long in a chain of dicts."""
        return {**self.globals, **(d or {})}


def build_environment(language: Language, folders: Sequence[Path]) -> Environment:
    """Build the environment of one language for the pages in these folders."""
    environment = _PageEnvironment(
        loader=FileSystemLoader(folders),
        extensions=[TranslatedTemplates, "jinja2.ext.i18n", "jinja2.ext.do"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Keep every template.
        cache_size=-1,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.globals.update(language=language, translations=language.translations)
    environment.filters.update(build_page_filters(language.code), line=render_line, fill=fill)
    install_translations(environment, language)
    return environment


def install_translations(environment: Environment, language: Language) -> None:
    install: Any = environment
    install.install_gettext_translations(language.translations, newstyle=True)


class TranslatedTemplates(Extension):
    """Translates `{% trans %}` blocks and `gettext("...")` with the environment's
    `translations`.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        del name, filename
        translations: NullTranslations = self.environment.globals["translations"]  # type: ignore[assignment]
        with_blocks_translated = _TEXT.sub(lambda match: _translate(translations, match), source)
        return _GETTEXT_CALL.sub(
            lambda match: _translate_call(translations, match), with_blocks_translated
        )


def _translate(translations: NullTranslations, match: re.Match[str]) -> str:
    """Return the translated text with its placeholders."""
    values, text = (
        match["values"].strip(),
        _WHITE_SPACE_RUN.sub(" ", match["text"].strip(_WHITE_SPACE)),
    )
    translated = translations.gettext(_PLACEHOLDER.sub(r"%(\1)s", text))
    shown = _TRANSLATED_PLACEHOLDER.sub(r"{{ \1 }}", translated)
    return f"{{% with {values} %}}{shown}{{% endwith %}}" if values else shown


def _translate_call(translations: NullTranslations, match: re.Match[str]) -> str:
    """Return the translated text as a safe constant. The values inserted into it are escaped."""
    source_text = "".join(_STRING.findall(match["text"]))
    translated = translations.gettext(source_text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{translated}" | safe | fill({")" if match["end"] == ")" else ""}'


def fill(text: Markup, **values: object) -> Markup:
    """The filter that replaces placeholders with escaped values."""
    return text % values
