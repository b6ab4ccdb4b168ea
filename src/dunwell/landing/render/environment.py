"""Jinja as the pages use it: one set of templates for each language, compiled once in a process."""

from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dunwell.landing.render.formats import build_page_filters
from dunwell.landing.render.translating import TranslatedTemplates, fill
from dunwell.landing.render.wording import Language
from dunwell.messages.formatting import render_line

# Each slice's own; no two are called the same.
TEMPLATES = sorted(Path(__file__).parents[1].glob("*/templates"))


# Templates are kept for good, in a plain dict.
_ALL = -1


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
