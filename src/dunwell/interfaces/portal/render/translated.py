"""The filter that shows the texts of use cases in the reader's language."""

from collections.abc import Callable
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from dunwell.contact.messages.formatting import render_line
from dunwell.interfaces.portal.render.labels import find_fact_label
from dunwell.interfaces.web.formats import build_page_filters
from dunwell.platform.text.lazy_text import CountText, InstantText, LazyText
from dunwell.platform.text.translation import Language


def build_translated(language: Language) -> Callable[[Context, str], Markup]:
    """Return the filter `text | translated`. A text that is no `LazyText`, such as an answer of a
    provider, is shown as it is and marked as English."""
    filters = build_page_filters(language.code)

    def show_fact(name: str, fact: Any, timezone: str) -> Any:
        if isinstance(fact, LazyText):
            return translate(fact, timezone)
        if isinstance(fact, InstantText):
            return filters["short"](fact.instant, timezone)
        if isinstance(fact, CountText):
            return filters["count"](fact.number)
        label = find_fact_label(name, str(fact))
        return render_line(str(fact)) if label is None else language.translate(label.text)

    def translate(text: LazyText, timezone: str) -> Markup:
        translated = Markup(language.translate(text.text))  # noqa: S704 - ours; facts are escaped
        if not text.facts:
            return translated
        return translated % {
            name: show_fact(name, fact, timezone) for name, fact in text.facts.items()
        }

    @pass_context
    def show(context: Context, text: str) -> Markup:
        if isinstance(text, LazyText):
            return translate(text, context.get("timezone", "UTC"))
        return Markup('<span lang="en">{}</span>').format(render_line(text)) if text else Markup()

    return show
