"""The limits that a merchant sets for plans and deferrals. A check reports every fault of a request
at once.

Neither a deferred payment nor a plan's last instalment may be due after the claim's
`max_deferral_on`. Amounts are in minor units of the claim's currency. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.cases.modalities.instalments import Instalment, add_months, build_schedule
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.platform.errors import Fault, InvalidState

MAX_INSTALMENTS = 36
_MAX_REQUESTS = 3
_REQUEST_INTERVAL = timedelta(days=30)


class ModalityFacts(msgspec.Struct, frozen=True, gc=False):
    """The facts of a claim that the limits depend on."""

    outstanding_cents: int
    # No payment may be due after this day. None means that only the merchant's limits apply.
    max_deferral_on: date | None = None


class PlanTerms(msgspec.Struct, frozen=True, gc=False):
    """A number of equal monthly instalments."""

    count: int
    first_on: date

    @property
    def type(self) -> ModalityType:
        return ModalityType.PAYMENT_PLAN

    def schedule(self, amount_cents: int) -> tuple[Instalment, ...]:
        return build_schedule(amount_cents, self.count, self.first_on)


class DeferralTerms(msgspec.Struct, frozen=True, gc=False):
    """The whole amount, due by a later day."""

    until: date

    @property
    def type(self) -> ModalityType:
        return ModalityType.PAYMENT_DEFEREMENT

    def schedule(self, amount_cents: int) -> tuple[Instalment, ...]:
        return (Instalment(1, self.until, amount_cents),)


Terms = PlanTerms | DeferralTerms


def list_terms_faults(
    terms: Terms, modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> list[Fault]:
    """Return every fault of the terms. An empty list means that they are within the merchant's
    limits."""
    if isinstance(terms, PlanTerms):
        if modalities.plan is None:
            return [_build_not_offered_fault("payment plan")]
        return list(_list_plan_faults(terms, modalities.plan, facts, today))
    if modalities.deferment is None:
        return [_build_not_offered_fault("deferment")]
    return list(_list_deferral_faults(terms, modalities.deferment, facts, today))


def is_approved_automatically(
    terms: Terms, modalities: ModalitySettings, earlier: Sequence[Modality]
) -> bool:
    """Return whether terms within the limits need no response: the merchant approves them
    automatically, once per claim."""
    offer = modalities.plan if isinstance(terms, PlanTerms) else modalities.deferment
    was_approved = any(each.state is ModalityState.APPROVED for each in earlier)
    return offer is not None and offer.auto_approve and not was_approved


def check_may_request(
    earlier: Sequence[Modality], requester_kind: ActorKind, now: datetime
) -> None:
    """Check that a modality may be requested. Raises InvalidState if another modality of the claim
    has not ended, or if the debtor requests too often. Each request stops the workflow, so debtors'
    requests are limited. `earlier` has the claim's modalities, newest first."""
    unended = next((each for each in earlier if each.ended_at is None), None)
    if unended is not None:
        raise InvalidState(
            "The claim has a payment modality; it must end before another one begins.",
            state=str(unended.state),
        )
    since = now - _REQUEST_INTERVAL
    recent = [
        each
        for each in earlier
        if each.actor_kind is ActorKind.DEBTOR and each.requested_at > since
    ]
    if requester_kind is ActorKind.DEBTOR and len(recent) >= _MAX_REQUESTS:
        raise InvalidState(
            f"{_MAX_REQUESTS} payment modalities were requested in the last 30 days.",
            state=str(recent[0].state),
        )


def _list_plan_faults(
    terms: PlanTerms, plans: PlanSettings, facts: ModalityFacts, today: date
) -> Iterator[Fault]:
    last_first_on = today + timedelta(days=plans.first_date_within_days)
    if not today <= terms.first_on <= last_first_on:
        message = f"The first instalment must be due between {today} and {last_first_on}."
        yield Fault("/firstDate", message, "OUT_OF_RANGE")
    if plans.counts and terms.count not in plans.counts:
        allowed = ", ".join(str(count) for count in plans.counts)
        yield Fault(
            "/count", f"Choose one of these numbers of instalments: {allowed}.", "NOT_ALLOWED"
        )
    elif not 2 <= terms.count <= MAX_INSTALMENTS:
        yield Fault("/count", f"Choose 2 to {MAX_INSTALMENTS} instalments.", "OUT_OF_RANGE")
    else:
        yield from _list_instalment_faults(terms, plans, facts)


def _list_instalment_faults(
    terms: PlanTerms, plans: PlanSettings, facts: ModalityFacts
) -> Iterator[Fault]:
    if terms.count > compute_max_instalments(plans, facts):
        min_cents = plans.min_rate_cents or 1
        message = (
            f"Each instalment must be at least {min_cents} in minor units; "
            "choose fewer instalments."
        )
        yield Fault("/count", message, "TOO_SMALL")
    limit = facts.max_deferral_on
    if limit is not None and add_months(terms.first_on, terms.count - 1) > limit:
        message = (
            f"The last instalment must be due by {limit}; "
            "choose fewer instalments or start earlier."
        )
        yield Fault("/count", message, "TOO_LATE")


def compute_max_instalments(plans: PlanSettings, facts: ModalityFacts) -> int:
    """Return the largest number of instalments of which each has the merchant's minimum amount."""
    return facts.outstanding_cents // (plans.min_rate_cents or 1)


def _list_deferral_faults(
    terms: DeferralTerms, deferments: DeferralSettings, facts: ModalityFacts, today: date
) -> Iterator[Fault]:
    first, last = compute_deferral_range(deferments, facts, today)
    if last < first:
        message = "The payment cannot be deferred any further."
        yield Fault("/until", message, "TOO_LATE")
    elif not first <= terms.until <= last:
        message = f"The payment can be deferred to a day between {first} and {last}."
        yield Fault("/until", message, "OUT_OF_RANGE")


def compute_deferral_range(
    deferments: DeferralSettings, facts: ModalityFacts, today: date
) -> tuple[date, date]:
    """Return the first and the last day to which a payment can be deferred. If the last is before
    the first, there is none."""
    last = today + timedelta(days=deferments.max_days)
    limit = facts.max_deferral_on
    return today + timedelta(days=1), last if limit is None else min(last, limit)


def _build_not_offered_fault(offer: str) -> Fault:
    return Fault("/type", f"The creditor offers no {offer}.", "NOT_OFFERED")
