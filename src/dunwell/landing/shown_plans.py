"""An offered plan in the words of its page: how many rates, of which amounts, when. Pure."""

from dataclasses import dataclass
from datetime import date

from dunwell.messages.formatting import render_day, render_money
from dunwell.modalities.offers import Offer


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """So many rates of the one amount and then so many, maybe none, of the other."""

    count: int
    first_count: int
    first_cents: int
    last_count: int
    last_cents: int
    first_on: date
    last_on: date
    total_cents: int
    # The whole schedule for the page's script: "day|amount", parted by ";", as people read them.
    rows: str


def describe_plan(offer: Offer, currency: str, language: str) -> ShownPlan:
    schedule = offer.schedule
    first, last = schedule[0], schedule[-1]
    first_count = sum(each.amount_cents == first.amount_cents for each in schedule)
    return ShownPlan(
        count=len(schedule),
        first_count=first_count,
        first_cents=first.amount_cents,
        last_count=len(schedule) - first_count,
        last_cents=last.amount_cents,
        first_on=first.due_on,
        last_on=last.due_on,
        total_cents=offer.total_cents,
        rows=";".join(
            f"{render_day(each.due_on, language)}|"
            f"{render_money(each.amount_cents, currency, language)}"
            for each in schedule
        ),
    )
