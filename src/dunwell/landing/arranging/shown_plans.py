"""Plans in the words of their pages: how many rates, of which amounts, when. Pure."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from dunwell.landing.render.formats import render_amount, render_bound_day
from dunwell.landing.render.slots import Described, Slot
from dunwell.modalities.bounds import PlanTerms
from dunwell.modalities.modality import Modality
from dunwell.modalities.plans import add_months, share_out


class ShownPlan(NamedTuple):
    """So many rates of the one amount and then so many, maybe none, of the other."""

    first_count: str
    first_amount: str
    last_count: str
    last_amount: str


def describe_plan(count: int, amount_cents: int, currency: str, language: str) -> ShownPlan:
    shares = share_out(amount_cents, count)
    return ShownPlan(
        str(shares.first_count), render_amount(shares.first_cents, currency, language),
        str(shares.last_count), render_amount(shares.last_cents, currency, language),
    )  # fmt: skip


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


def describe_schedule(modality: Modality, language: str) -> Described:
    """A plan that was asked for, with what is paid of it."""
    show = partial(render_amount, currency=modality.currency, language=language)
    schedule = modality.schedule
    rates = tuple([(each.is_paid, each.paid_cents > 0) for each in schedule])
    slots: dict[str, Slot] = {
        "rate_days": [render_bound_day(each.due_on, language) for each in schedule],
        "rate_amounts": [show(each.amount_cents) for each in schedule],
        "rate_paid": [show(each.paid_cents) for each in schedule],
        "plan_total": show(modality.amount_cents),
    }
    return {"rates": rates}, slots
