"""An offered plan in the words of its page: how many rates, of which amounts, when. Pure."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup

from dunwell.landing.formats import render_amount, render_bound_day
from dunwell.modalities.bounds import PlanTerms
from dunwell.modalities.plans import add_months, share_out


class ShownPlan(NamedTuple):
    """How many rates of which amount, and how many of another one then; "" for none of these."""

    first: str
    last: str


def describe_plan(count: int, amount_cents: int, currency: str, language: str) -> ShownPlan:
    shares = share_out(amount_cents, count)
    first = render_amount(shares.first_cents, currency, language)
    if not shares.last_count:
        return ShownPlan(_show_rates("first", count, first), "")
    last = render_amount(shares.last_cents, currency, language)
    return ShownPlan(
        _show_rates("first", shares.first_count, first),
        _show_rates("last", shares.last_count, last),
    )


def list_amounts(count: int, amount_cents: int, currency: str, language: str) -> Sequence[str]:
    """Of each rate."""
    shares = share_out(amount_cents, count)
    first = render_amount(shares.first_cents, currency, language)
    last = render_amount(shares.last_cents, currency, language)
    return [first] * shares.first_count + [last] * shares.last_count


@lru_cache(maxsize=4096)
def list_days(terms: PlanTerms, language: str) -> tuple[str, ...]:
    """Of each rate; the same for all who are offered the plan on one day."""
    days = (add_months(terms.first_on, place) for place in range(terms.count))
    return tuple(render_bound_day(day, language) for day in days)


def _show_rates(name: str, count: int, amount: Markup) -> Markup:
    """On one line. name: what the page's script knows it by."""
    times = "\N{MULTIPLICATION SIGN}"
    return Markup(  # noqa: S704 - of what is safe
        f'<span class="money" data-plan-{name}="{count}">{count} {times} {amount}</span>'
    )
