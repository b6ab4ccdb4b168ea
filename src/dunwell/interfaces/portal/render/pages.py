"""Render the portal's pages: their context, and the masks of links, codes and check words in
messages."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.workflows.versions.word_differences import WordComparison
from dunwell.interfaces.portal.render.addresses import build_address, names_merchant
from dunwell.interfaces.portal.render.charts import Bar, draw_bars, draw_columns
from dunwell.interfaces.portal.render.labels import (
    describe_text_fault,
    find_fact_label,
    translate_labels,
)
from dunwell.interfaces.web.formats import build_page_filters
from dunwell.interfaces.web.templates import Page, PageContext, PageRenderer, build_environment
from dunwell.operations.claim_status.reasons import render_step_reason
from dunwell.platform.text.translation import (
    AmountText,
    CountText,
    DayText,
    InstantText,
    Language,
    LazyText,
)


def build_translation_filter(language: Language) -> Callable[[Context, str], Markup]:
    """Return the filter `text | translated`. A text that is not a `LazyText`, such as a provider's
    response, is shown as it is and marked as English."""
    filters = build_page_filters(language.code)

    def render_fact(name: str, fact: Any, timezone: str) -> Any:
        if isinstance(fact, LazyText):
            return translate(fact, timezone)
        shown = _format_fact(filters, fact, timezone)
        if shown is not None:
            return shown
        label = find_fact_label(name, str(fact))
        return render_line(str(fact)) if label is None else language.translate(label.text)

    def translate(text: LazyText, timezone: str) -> Markup:
        translated = Markup(language.translate(text.text))  # noqa: S704 - ours; facts are escaped
        if not text.facts:
            return translated
        return translated % {
            name: render_fact(name, fact, timezone) for name, fact in text.facts.items()
        }

    @pass_context
    def translate_text(context: Context, text: str) -> Markup:
        if isinstance(text, LazyText):
            return translate(text, context.get("timezone", "UTC"))
        return Markup('<span lang="en">{}</span>').format(render_line(text)) if text else Markup()

    return translate_text


def _format_fact(filters: Mapping[str, Callable[..., Any]], fact: Any, timezone: str) -> Any:
    """Return a value in the reader's format, None if the fact is a text."""
    if isinstance(fact, InstantText):
        return filters["short"](fact.instant, timezone)
    if isinstance(fact, CountText):
        return filters["count"](fact.number)
    if isinstance(fact, AmountText) and fact.currency:
        return filters["money"](fact.cents, fact.currency)
    return filters["short_day"](fact.day) if isinstance(fact, DayText) else None


PORTAL = Path(__file__).parents[1]
# The folders of templates. Names of templates are unique among them.
TEMPLATES = sorted(PORTAL.glob("*/templates"))
_MASKS = (TOKEN_MASK, CODE_MASK, CHECK_MASK)
_ANY_MASK = re.compile("|".join(map(re.escape, _MASKS)))


class SignedInPerson(msgspec.Struct, frozen=True, gc=False):
    """The signed-in user, as shown on every page."""

    name: str
    # True if the user can choose between several merchants.
    has_choice: bool = False
    # True if the user may open pages that belong to no merchant.
    is_operator: bool = False


class PortalPageContext(PageContext, frozen=True, gc=False):
    """The context of every page of the portal."""

    person: SignedInPerson | None = None
    # The token that every form sends.
    form_token: str = ""
    # The names of the user's permissions at the merchant.
    rights: frozenset[str] = frozenset()
    # The name of the message about the last action (`_done.html`), or "".
    done: str = ""
    # The page's path.
    path: str = ""

    @property
    def timezone(self) -> str:
        return self.merchant.configuration.timezone if self.merchant else "UTC"

    def address(self, page: str, /, **values: object) -> str:
        """Return the URL of a page, at this merchant unless another one is given
        (`build_address`)."""
        if names_merchant(page) and self.merchant is not None:
            values.setdefault("merchant_id", self.merchant.merchant_id)
        return build_address(page, **values)

    def may(self, right: str) -> bool:
        """Return whether the user has the permission; pages hide what the use case would refuse."""
        return right in self.rights


class PortalPages(PageRenderer):
    """Renders the portal's pages."""

    def __init__(
        self, languages: Mapping[str, Language], domain: str, stylesheet: str,
        assets: Mapping[str, str],
    ) -> None:  # fmt: skip
        environments = {code: load_environment(each) for code, each in languages.items()}
        super().__init__(languages, environments, domain, stylesheet=stylesheet, assets=assets)

    def render(self, context: PortalPageContext, page: Page) -> bytes:
        values = {
            "to": context.address, "may": context.may, "person": context.person,
            "merchant": context.merchant, "timezone": context.timezone,
            "form_token": context.form_token, "area": page.area, "done": context.done,
            "path": context.path,
            # One comparison for each page, so that all its texts share one limit of work.
            "compare_words": WordComparison().compare,
        }  # fmt: skip
        return self.render_page(context, page, values)


@cache
def load_environment(language: Language) -> Environment:
    environment = build_environment(language, TEMPLATES)
    environment.globals.update(bar=Bar, rows=draw_bars, columns=draw_columns)
    environment.globals.update(translate_labels(language))
    environment.filters.update(
        without_masks=remove_masks,
        described=describe_masks,
        translated=build_translation_filter(language),
        step_reason=render_step_reason,
        text_fault=describe_text_fault,
    )
    return environment


def remove_masks(text: str) -> str:
    """Remove the masks from a message's text or HTML. In templates: `text | without_masks`."""
    for mask in _MASKS:
        text = text.replace(mask, "…")
    return text


def describe_masks(text: str, link: str, code: str, check: str) -> Markup:
    """Replace the masks of a message's text with descriptions. In templates: `text |
    described(link, code, check)`."""
    words = dict(zip(_MASKS, (link, code, check), strict=True))
    parts, position = [Markup()], 0
    for found in _ANY_MASK.finditer(text):
        description = Markup('<span class="described">[{}]</span>').format(words[found[0]])
        parts += [escape(text[position : found.start()]), description]
        position = found.end()
    return Markup().join([*parts, escape(text[position:])])
