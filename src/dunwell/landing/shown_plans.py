"""An offered plan in the words of its page: how many rates, of which amounts, when. Pure."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dunwell.landing.formats import render_amount, render_bound_day
from dunwell.messages.formatting import render_money
from dunwell.modalities.bounds import PlanTerms
from dunwell.modalities.plans import add_months, share_out


class ShownPlan(NamedTuple):
    """So many rates of the one amount and then so many, maybe none, of the other."""

    first_count: str
    first_amount: str
    last_count: str
    last_amount: str
    begins: str
    ends: str
    # For the page's script: "day;day" of all rates, and "count|amount|count|amount".
    days: str
    rates: str


def describe_plan(terms: PlanTerms, amount_cents: int, currency: str, language: str) -> ShownPlan:
    shares = share_out(amount_cents, terms.count)
    first_count, last_count = str(shares.first_count), str(shares.last_count)
    first_money = render_money(shares.first_cents, currency, language)
    last_money = render_money(shares.last_cents, currency, language)
    return ShownPlan(
        first_count=first_count,
        first_amount=render_amount(shares.first_cents, currency, language),
        last_count=last_count,
        last_amount=render_amount(shares.last_cents, currency, language),
        begins=render_bound_day(terms.first_on, language),
        ends=render_bound_day(add_months(terms.first_on, terms.count - 1), language),
        days=";".join(list_days(terms, language)),
        rates=f"{first_count}|{first_money}|{last_count}|{last_money}",
    )


def list_amounts(
    terms: PlanTerms, amount_cents: int, currency: str, language: str
) -> Sequence[str]:
    """Of each rate."""
    shares = share_out(amount_cents, terms.count)
    return [render_amount(shares.first_cents, currency, language)] * shares.first_count + [
        render_amount(shares.last_cents, currency, language)
    ] * shares.last_count


@lru_cache(maxsize=4096)
def list_days(terms: PlanTerms, language: str) -> tuple[str, ...]:
    """Of each rate; the same for all who are offered the plan on one day."""
    days = (add_months(terms.first_on, place) for place in range(terms.count))
    return tuple(render_bound_day(day, language) for day in days)
