"""Which plan or deferment a debtor asks for, as the pages' addresses and forms say it.

A choice is carried in the address, so that looking at it changes nothing: for a plan
`count=3&first=2026-03-16`, for a deferment `until=2026-03-31`. What can be had is the domain's to
say. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import Modalities
from dunwell.cases.modalities.bounds import (
    ClaimFacts,
    DefermentTerms,
    PlanTerms,
    Terms,
    check_may_ask,
    find_terms_faults,
)
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.offers import find_plan, find_plan_by_rate, list_plans
from dunwell.interfaces.landing.render.dates import is_given, read_carried_day, read_day
from dunwell.interfaces.web.amounts import read_amount
from dunwell.platform.errors import InvalidState

# What a choice of one's own is called, where an offer has its number of rates or its day.
OWN = "own"
_LONGEST_COUNT = 2
Fields = Mapping[str, str]


class Refused(StrEnum):
    """Why what was chosen or typed cannot be asked for."""

    NO_CHOICE = "NO_CHOICE"
    RATE_UNREADABLE = "RATE_UNREADABLE"
    RATE_TOO_SMALL = "RATE_TOO_SMALL"
    # As much as is owed, or more.
    RATE_TOO_GREAT = "RATE_TOO_GREAT"
    DAY_UNREADABLE = "DAY_UNREADABLE"
    DAY_OUT_OF_RANGE = "DAY_OUT_OF_RANGE"
    # The last rate would be due too late.
    ENDS_TOO_LATE = "ENDS_TOO_LATE"
    # What an address or a form carried is not to be had any more.
    CHANGED = "CHANGED"


@dataclass(frozen=True)
class Ground:
    """What a request stands on. `today` is the merchant's, earlier modalities are the claim's."""

    modalities: Modalities
    facts: ClaimFacts
    today: date
    earlier: Sequence[Modality] = ()

    @cached_property
    def plans(self) -> Sequence[PlanTerms]:
        """Every plan that can be had, the fewest rates first, beginning on the usual day."""
        return list_plans(self.modalities, self.facts, self.today)


def find_live(earlier: Sequence[Modality]) -> Modality | None:
    return next((each for each in earlier if each.ended_at is None), None)


def may_ask(earlier: Sequence[Modality], now: datetime) -> bool:
    try:
        check_may_ask(earlier, ActorKind.DEBTOR, now)
    except InvalidState:
        return False
    return True


def is_to_be_had(terms: Terms, ground: Ground) -> bool:
    """Whether the bounds allow it."""
    return not find_terms_faults(terms, ground.modalities, ground.facts, ground.today)


def read_plan(
    fields: Fields, ground: Ground, currency: str, language: str
) -> PlanTerms | list[Refused]:
    """What the plan page's form says; of an address that carries a plan, that one."""
    if "count" in fields:
        carried = read_carried_plan(fields)
        return (
            [Refused.CHANGED] if carried is None or not is_to_be_had(carried, ground) else carried
        )
    first_on = day_refused = None
    if is_given(fields, "first"):
        first_on = read_day(fields, "first")
        day_refused = _find_day_refused(first_on, ground)
        first_on = first_on if day_refused is None else None
    chosen = _choose_plan(fields, ground, first_on, (currency, language))
    if isinstance(chosen, PlanTerms):
        return chosen if day_refused is None else [day_refused]
    return [chosen] if day_refused is None else [chosen, day_refused]


def read_carried_plan(fields: Fields) -> PlanTerms | None:
    """As it stands, whether it can be had or not."""
    count, first_on = fields.get("count", ""), read_carried_day(fields.get("first", ""))
    is_number = count.isascii() and count.isdecimal() and len(count) <= _LONGEST_COUNT
    return PlanTerms(int(count), first_on) if is_number and first_on else None


def read_deferment(fields: Fields, ground: Ground) -> DefermentTerms | Refused:
    """What the form says, or an address that carries a deferment."""
    given = fields.get("until", "")
    if not given:
        return Refused.NO_CHOICE
    terms = _read_own_deferment(fields) if given == OWN else read_carried_deferment(fields)
    if terms is None:
        return Refused.DAY_UNREADABLE
    return terms if is_to_be_had(terms, ground) else Refused.DAY_OUT_OF_RANGE


def read_carried_deferment(fields: Fields) -> DefermentTerms | None:
    """As it stands, whether it can be had or not."""
    until = read_carried_day(fields.get("until", ""))
    return None if until is None else DefermentTerms(until)


def render_deferment(terms: DefermentTerms) -> str:
    """As an address carries it."""
    return f"until={terms.until}"


def _choose_plan(
    fields: Fields, ground: Ground, first_on: date | None, typed_in: tuple[str, str]
) -> PlanTerms | Refused:
    """typed_in: which currency, which language."""
    offer = fields.get("offer", "")
    if offer == OWN:
        return _choose_by_rate(fields.get("rate", ""), ground, first_on, typed_in)
    is_count = offer.isascii() and offer.isdecimal() and len(offer) <= _LONGEST_COUNT
    if not is_count:
        return Refused.CHANGED if offer else Refused.NO_CHOICE
    terms = (ground.modalities, ground.facts, ground.today, int(offer))
    found = find_plan(*terms, first_on)
    if found is not None:
        return found
    return Refused.ENDS_TOO_LATE if find_plan(*terms) else Refused.CHANGED


def _choose_by_rate(
    text: str, ground: Ground, first_on: date | None, typed_in: tuple[str, str]
) -> PlanTerms | Refused:
    plans = ground.plans
    if first_on is not None:
        plans = list_plans(ground.modalities, ground.facts, ground.today, first_on)
    cents = read_amount(text, *typed_in)
    if cents is None:
        return Refused.RATE_UNREADABLE
    if cents >= ground.facts.outstanding_cents:
        return Refused.RATE_TOO_GREAT
    if not plans:
        return Refused.ENDS_TOO_LATE
    return find_plan_by_rate(plans, ground.facts, cents) or Refused.RATE_TOO_SMALL


def _find_day_refused(first_on: date | None, ground: Ground) -> Refused | None:
    if ground.modalities.plan is None:
        return None
    if first_on is None:
        return Refused.DAY_UNREADABLE
    days_ahead = (first_on - ground.today).days
    is_within = 0 <= days_ahead <= ground.modalities.plan.first_date_within_days
    return None if is_within else Refused.DAY_OUT_OF_RANGE


def _read_own_deferment(fields: Fields) -> DefermentTerms | None:
    until = read_day(fields, "on")
    return None if until is None else DefermentTerms(until)
