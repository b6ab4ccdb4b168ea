"""Jinja as the pages use it: one set of templates for each language, compiled to cost little.

What a page costs is mostly Jinja's care for cases that these templates never are; what is left out
here is said at each place.
"""

import builtins
import re
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

from dunwell.landing.render.formats import build_page_filters
from dunwell.landing.render.translating import TranslatedTemplates, fill
from dunwell.landing.render.wording import Language
from dunwell.messages.formatting import render_line

# Each slice's own; no two are called the same.
TEMPLATES = sorted(Path(__file__).parents[1].glob("*/templates"))
_find_unsafe = re.compile(r"""[&<>'"]""").search
_INCLUDED = re.compile(r'\{% include "(?P<name>\w+\.html)" %\}\n?')


def build_environment(language: Language, shared: Mapping[str, Any]) -> Environment:
    """shared: what every template of it can name."""
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
    environment.globals.update(shared, language=language, words=language.words)
    environment.filters.update(build_page_filters(language.code), line=render_line, fill=fill)
    install: Any = environment
    install.install_gettext_translations(language.words, newstyle=True)
    return environment


class _Context(Context):
    def call(self, called: Any, *args: Any, **kwargs: Any) -> Any:
        """A macro is called at once: whether what is called wants a context, and of which kind, is
        a question for functions."""
        if type(called) is not Macro:
            return super().call(called, *args, **kwargs)
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        return called(self.eval_ctx, *args, **kwargs)


class _Template(Template):
    @classmethod
    def from_code(cls, *args: Any, **kwargs: Any) -> Template:
        """What is safe already is shown as it is, where Jinja would make a copy of it."""
        template = super().from_code(*args, **kwargs)
        names = template.root_render_func.__globals__
        names["escape"] = make_safe
        return template


class _Environment(Environment):
    """Attributes are attributes: what a value lacks is not looked for among its items, which costs
    a page's every mention of a value."""

    context_class = _Context
    template_class = _Template
    getattr = staticmethod(builtins.getattr)  # type: ignore[assignment] # called as the method is

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Flat, as every page begins with a copy: what Jinja gives is a chain of mappings."""
        return {**self.globals, **(d or {})}


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


def make_safe(value: Any) -> str:
    """As it is shown in a page."""
    is_safe = type(value) is Markup or (type(value) is str and _find_unsafe(value) is None)
    return value if is_safe else escape(value)
