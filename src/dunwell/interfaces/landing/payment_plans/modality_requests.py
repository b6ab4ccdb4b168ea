"""Requests of debtors for payment plans and deferrals: parsing, checking and submitting them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property

from starlette.responses import Response

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import ModalitySettings
from dunwell.cases.modalities.answer_modality import request_modality
from dunwell.cases.modalities.limits import (
    DeferralTerms,
    ModalityFacts,
    PlanTerms,
    Terms,
    check_may_request,
    list_terms_faults,
)
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.offers import find_plan, find_plan_by_instalment, list_plans
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import list_recent_modalities
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.render.typed_fields import is_day_given, parse_day, parse_iso_day
from dunwell.interfaces.landing.session.states import PageState, decide_state
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.amounts import parse_amount
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import InvalidState, ValidationError

# The value of the radio button for a custom choice. That of an offer is its number of instalments
# or its date.
OWN = "own"
_MAX_COUNT_DIGITS = 2
Fields = Mapping[str, str]


class RefusedRequest(StrEnum):
    """Why a choice cannot be requested."""

    NO_CHOICE = "NO_CHOICE"
    AMOUNT_UNREADABLE = "AMOUNT_UNREADABLE"
    AMOUNT_TOO_SMALL = "AMOUNT_TOO_SMALL"
    # The monthly amount is not less than the outstanding amount.
    AMOUNT_TOO_GREAT = "AMOUNT_TOO_GREAT"
    DAY_UNREADABLE = "DAY_UNREADABLE"
    DAY_OUT_OF_RANGE = "DAY_OUT_OF_RANGE"
    # The last instalment would be due too late.
    ENDS_TOO_LATE = "ENDS_TOO_LATE"
    # The submitted plan or deferral is no longer available.
    CHANGED = "CHANGED"


@dataclass(frozen=True)
class ModalityRequestFacts:
    """The facts that a request depends on. `today` is the merchant's day; `earlier` holds the
    claim's modalities."""

    modalities: ModalitySettings
    facts: ModalityFacts
    today: date
    earlier: Sequence[Modality] = ()

    @cached_property
    def plans(self) -> Sequence[PlanTerms]:
        """All available plans with the usual first date, the fewest instalments first."""
        return list_plans(self.modalities, self.facts, self.today)


def find_current_modality(earlier: Sequence[Modality]) -> Modality | None:
    return next((each for each in earlier if each.ended_at is None), None)


def can_request(earlier: Sequence[Modality], now: datetime) -> bool:
    try:
        check_may_request(earlier, ActorKind.DEBTOR, now)
    except InvalidState:
        return False
    return True


def is_available(terms: Terms, request_facts: ModalityRequestFacts) -> bool:
    """Return whether the merchant's limits allow these terms."""
    return not list_terms_faults(
        terms, request_facts.modalities, request_facts.facts, request_facts.today
    )


def parse_plan(
    fields: Fields, request_facts: ModalityRequestFacts, currency: str, language: str
) -> PlanTerms | list[RefusedRequest]:
    """Parse the form of the plan page, or an address that contains the terms of a plan. Return the
    faults if no plan can be requested."""
    if "count" in fields:
        terms_in_address = parse_plan_address(fields)
        return (
            [RefusedRequest.CHANGED]
            if terms_in_address is None or not is_available(terms_in_address, request_facts)
            else terms_in_address
        )
    first_on = day_fault = None
    if is_day_given(fields, "first"):
        first_on = parse_day(fields, "first")
        day_fault = _find_day_fault(first_on, request_facts)
        first_on = first_on if day_fault is None else None
    chosen = _choose_plan(fields, request_facts, first_on, (currency, language))
    if isinstance(chosen, PlanTerms):
        return chosen if day_fault is None else [day_fault]
    return [chosen] if day_fault is None else [chosen, day_fault]


def parse_plan_address(fields: Fields) -> PlanTerms | None:
    """Parse the terms without checking whether they are available."""
    count, first_on = fields.get("count", ""), parse_iso_day(fields.get("first", ""))
    is_number = count.isascii() and count.isdecimal() and len(count) <= _MAX_COUNT_DIGITS
    return PlanTerms(int(count), first_on) if is_number and first_on else None


def parse_deferral(
    fields: Fields, request_facts: ModalityRequestFacts
) -> DeferralTerms | RefusedRequest:
    """Parse the form of a deferral, or an address that contains its terms."""
    given = fields.get("until", "")
    if not given:
        return RefusedRequest.NO_CHOICE
    terms = _parse_own_deferral(fields) if given == OWN else parse_deferral_address(fields)
    if terms is None:
        return RefusedRequest.DAY_UNREADABLE
    return terms if is_available(terms, request_facts) else RefusedRequest.DAY_OUT_OF_RANGE


def parse_deferral_address(fields: Fields) -> DeferralTerms | None:
    """Parse the terms without checking whether they are available."""
    until = parse_iso_day(fields.get("until", ""))
    return None if until is None else DeferralTerms(until)


def render_deferral(terms: DeferralTerms) -> str:
    """Render the terms for an address."""
    return f"until={terms.until}"


def _choose_plan(
    fields: Fields,
    request_facts: ModalityRequestFacts,
    first_on: date | None,
    typed_in: tuple[str, str],
) -> PlanTerms | RefusedRequest:
    """Choose the plan. `typed_in` is the currency and the language of the input."""
    offer = fields.get("offer", "")
    if offer == OWN:
        return _choose_by_amount(
            fields.get("monthly_amount", ""), request_facts, first_on, typed_in
        )
    is_count = offer.isascii() and offer.isdecimal() and len(offer) <= _MAX_COUNT_DIGITS
    if not is_count:
        return RefusedRequest.CHANGED if offer else RefusedRequest.NO_CHOICE
    terms = (request_facts.modalities, request_facts.facts, request_facts.today, int(offer))
    found = find_plan(*terms, first_on)
    if found is not None:
        return found
    return RefusedRequest.ENDS_TOO_LATE if find_plan(*terms) else RefusedRequest.CHANGED


def _choose_by_amount(
    text: str, request_facts: ModalityRequestFacts, first_on: date | None, typed_in: tuple[str, str]
) -> PlanTerms | RefusedRequest:
    plans = request_facts.plans
    if first_on is not None:
        plans = list_plans(
            request_facts.modalities, request_facts.facts, request_facts.today, first_on
        )
    cents = parse_amount(text, *typed_in)
    if cents is None:
        return RefusedRequest.AMOUNT_UNREADABLE
    if cents >= request_facts.facts.outstanding_cents:
        return RefusedRequest.AMOUNT_TOO_GREAT
    if not plans:
        return RefusedRequest.ENDS_TOO_LATE
    return (
        find_plan_by_instalment(plans, request_facts.facts, cents)
        or RefusedRequest.AMOUNT_TOO_SMALL
    )


def _find_day_fault(
    first_on: date | None, request_facts: ModalityRequestFacts
) -> RefusedRequest | None:
    if request_facts.modalities.plan is None:
        return None
    if first_on is None:
        return RefusedRequest.DAY_UNREADABLE
    days_ahead = (first_on - request_facts.today).days
    is_within = 0 <= days_ahead <= request_facts.modalities.plan.first_date_within_days
    return None if is_within else RefusedRequest.DAY_OUT_OF_RANGE


def _parse_own_deferral(fields: Fields) -> DeferralTerms | None:
    until = parse_day(fields, "on")
    return None if until is None else DeferralTerms(until)


# How many modalities are loaded: more than a debtor can request in the period that limits requests.
_MAX_EARLIER_MODALITIES = 200
_MAX_DIGITS = 12


def can_pay_later(site: DebtorSite, opened: OpenedClaim) -> bool:
    """Return whether there is an open amount that can be paid later."""
    state = decide_state(opened.facts, opened.merchant.now(site.resources.clock))
    return state in (PageState.OPEN, PageState.HELD, PageState.PENDING)


async def load_request_facts(site: DebtorSite, opened: OpenedClaim) -> ModalityRequestFacts:
    merchant, facts = opened.merchant, opened.facts
    earlier = await _load_earlier(site, opened) if facts.has_modalities else []
    return ModalityRequestFacts(
        merchant.configuration.modalities,
        ModalityFacts(facts.outstanding_cents, facts.max_deferral_on),
        local_date(merchant.now(site.resources.clock), merchant.configuration.timezone),
        earlier,
    )


def get_query_fields(request: DebtorRequest) -> dict[str, str]:
    """Return the last value of each query field."""
    return {name: values[-1] for name, values in request.query.items()}


def redirect_unless_requestable(
    site: DebtorSite,
    context: DebtorPageContext,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
) -> Response | None:
    """Redirect a debtor who cannot make a request: to the current modality, or to the page that
    explains why."""
    if not can_pay_later(site, opened):
        return site.redirect(context, "claim")
    current = find_current_modality(request_facts.earlier)
    if current is not None:
        return site.redirect(context, "modality", modality_id=current.modality_id)
    may_request = can_request(request_facts.earlier, opened.merchant.now(site.resources.clock))
    return None if may_request else site.redirect(context, "options")


async def submit_request(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, terms: Terms, form: FormFields
) -> Response | None:
    """Submit the request. Repeated clicks create one request and lead to the same page. Return None
    if the amount shown has changed or the terms are no longer available."""
    context = site.build_claim_context(request, opened)
    try:
        modality = await _request(site, opened, terms, _parse_shown_amount(form))
    except ValidationError:
        return None
    except InvalidState:
        current = find_current_modality(await _load_earlier(site, opened))
        if current is None:
            # The claim was paid or closed, or there were too many requests. The options page says
            # which.
            return site.redirect(context, "options")
        is_same = terms.schedule(current.amount_cents) == current.schedule
        note = {} if is_same else {"note": "instead"}
        return site.redirect(context, "modality", modality_id=current.modality_id, **note)
    return site.redirect(context, "modality", modality_id=modality.modality_id)


async def _load_earlier(site: DebtorSite, opened: OpenedClaim) -> Sequence[Modality]:
    async with site.resources.database.connection() as connection:
        return await list_recent_modalities(
            connection,
            opened.merchant.merchant_id,
            opened.facts.claim_id,
            limit=_MAX_EARLIER_MODALITIES,
        )


async def _request(
    site: DebtorSite, opened: OpenedClaim, terms: Terms, shown_cents: int
) -> Modality:
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        return await request_modality(work, opened.facts.claim_id, terms, shown_cents=shown_cents)


def _parse_shown_amount(form: FormFields) -> int:
    """Return the amount that the form says was shown, or -1 if it is not an amount."""
    text = form.get("shown", "")
    is_amount = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_amount else -1
