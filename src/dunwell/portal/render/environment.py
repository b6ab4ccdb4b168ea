"""Jinja as the portal uses it: one set of templates for each language, compiled once in a
process."""

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dunwell.landing.render.formats import build_page_filters
from dunwell.landing.render.translating import TranslatedTemplates, fill
from dunwell.landing.render.wording import Language
from dunwell.messages.formatting import render_line
from dunwell.portal.render.charts import Bar, draw_bars, draw_columns
from dunwell.portal.render.formats import build_portal_filters
from dunwell.portal.render.masking import hide_secrets
from dunwell.portal.render.wording import PORTAL

# Each slice's own; no two are called the same.
TEMPLATES = sorted(PORTAL.glob("*/templates"))


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
        line=render_line, fill=fill, masked=hide_secrets,
    )  # fmt: skip
    install: Any = environment
    install.install_gettext_translations(language.words, newstyle=True)
    return environment
