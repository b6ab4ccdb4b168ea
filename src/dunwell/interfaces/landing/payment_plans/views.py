"""What the pages about payment plans, deferrals and pauses show."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar

import msgspec

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.cases.direct_debit.debit_values import Mandate
from dunwell.cases.direct_debit.mandates import MandateOffer
from dunwell.cases.direct_debit.order import CURRENCY
from dunwell.cases.modalities.answer_modality import is_active_or_fulfilled
from dunwell.cases.modalities.instalments import (
    Instalment,
    InstalmentShares,
    add_months,
    compute_shares,
)
from dunwell.cases.modalities.limits import DeferralTerms, PlanTerms, is_approved_automatically
from dunwell.cases.modalities.modality import (
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
    find_open_instalment,
)
from dunwell.cases.modalities.offers import (
    compute_instalment_cents,
    list_offered_deferrals,
    list_offered_plans,
    select_offered_plans,
)
from dunwell.cases.modalities.progress import GRACE, compute_response_day, local_date
from dunwell.contact.messages.identities import mask_address
from dunwell.interfaces.landing.payment_plans.modality_requests import (
    OWN,
    ModalityRequestFacts,
    RefusedRequest,
    can_request,
    find_current_modality,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page


class OptionsPage(Page, frozen=True):
    template: ClassVar[str] = "options.html"

    currency: str
    outstanding_cents: int
    # The modality that has not ended.
    live: Modality | None
    can_request: bool
    # The number of instalments of the longest plan and their amount. None if no plan is offered.
    max_instalments: int | None
    min_instalment_cents: int | None
    # The last day for a deferral. None if no deferral is offered.
    latest: date | None


class ShownPlan(msgspec.Struct, frozen=True, gc=False):
    """An offered plan."""

    count: int
    shares: InstalmentShares
    due_days: Sequence[date]


class ChoosePlanPage(Page, frozen=True):
    template: ClassVar[str] = "plan.html"

    currency: str
    outstanding_cents: int
    plans: Sequence[ShownPlan]
    # The number of instalments of the selected offer, the value of a custom choice (`own`), or "".
    offer: str
    own: str
    # True if more offers are available than those shown.
    has_more: bool
    # The minimum instalment.
    min_cents: int
    # The first and the last day on which a plan can start.
    first_day: date
    last_day: date
    # The fields of a custom choice, by name.
    typed: Mapping[str, str]
    refused: Sequence[RefusedRequest]


class PlanCheckPage(Page, frozen=True):
    template: ClassVar[str] = "plan_check.html"

    currency: str
    schedule: Sequence[Instalment]
    total_cents: int
    grace_days: int
    # True if the request is approved automatically.
    is_approved_at_once: bool
    # True if the page showed another amount before.
    is_changed: bool


class LaterPage(Page, frozen=True):
    template: ClassVar[str] = "later.html"

    currency: str
    outstanding_cents: int
    days: Sequence[date]
    first_day: date
    last_day: date
    own: str
    # The form's fields, by name.
    typed: Mapping[str, str]
    refused: RefusedRequest | None


class LaterCheckPage(Page, frozen=True):
    template: ClassVar[str] = "later_check.html"

    currency: str
    outstanding_cents: int
    until: date
    is_approved_at_once: bool
    is_changed: bool


class HelpPage(Page, frozen=True):
    template: ClassVar[str] = "help.html"

    reference: str
    timezone: str
    level: Level
    # The end of the current pause, and the end of a pause that could start now.
    paused_until: datetime | None
    pause_until: date | None
    is_refused: bool


class DebtorModalityPage(Page, frozen=True):
    template: ClassVar[str] = "modality.html"

    modality: Modality
    is_plan: bool
    reason: ModalityEndReason | None
    timezone: str
    currency: str
    outstanding_cents: int
    # Set for a request: the day by which it is answered, and whether that day has passed.
    answer_on: date | None
    is_late: bool
    # The next instalment.
    next_instalment: Instalment | None
    # The unpaid part of the next instalment. None if it is the whole outstanding amount.
    instalment_cents: int | None
    has_confirmation: bool
    # The masked address for a copy.
    masked: str | None
    can_pay: bool
    # True if the plan can be paid by direct debit.
    has_direct_debit: bool
    grace_days: int
    # "instead" if another request existed already, "sent" or "refused" after a copy was requested,
    # or None.
    note: str | None


class MandatePage(Page, frozen=True):
    """The plan's mandate, or the form for it: exactly one of `mandate` and `offer` is set."""

    template: ClassVar[str] = "mandate.html"

    modality: Modality
    # The text that the debtor accepts or has accepted.
    text: str
    mandate: Mandate | None = None
    offer: MandateOffer | None = None
    # What was typed, and the codes of the faults, by field.
    typed: Mapping[str, str] = {}
    faults: Mapping[str, str] = {}


class ProviderMandatePage(Page, frozen=True):
    """The page with the button that leads to the provider's page, where the mandate is given."""

    template: ClassVar[str] = "provider_mandate.html"

    modality: Modality
    # The provider's name, as debtors know it.
    provider: str
    # True if the provider's page was opened before and its result is not known yet.
    is_waiting: bool
    # True if the provider cannot be reached.
    is_unavailable: bool = False


class ModalityWithdrawPage(Page, frozen=True):
    template: ClassVar[str] = "modality_withdraw.html"

    modality: Modality
    is_plan: bool
    currency: str
    outstanding_cents: int


def describe_options(
    opened: OpenedClaim, request_facts: ModalityRequestFacts, now: datetime
) -> OptionsPage:
    """Describe the options. `now` is the merchant's time."""
    terms = (request_facts.modalities, request_facts.facts, request_facts.today)
    plans, deferments = list_offered_plans(*terms), list_offered_deferrals(*terms)
    return OptionsPage(
        currency=opened.facts.currency,
        outstanding_cents=opened.facts.outstanding_cents,
        live=find_current_modality(request_facts.earlier),
        can_request=can_request(request_facts.earlier, now),
        max_instalments=plans[-1].count if plans else None,
        min_instalment_cents=compute_instalment_cents(plans[-1], request_facts.facts)
        if plans
        else None,
        latest=deferments[-1].until if deferments else None,
    )


def describe_plans(
    opened: OpenedClaim, request_facts: ModalityRequestFacts, last_day: date,
    typed: Mapping[str, str], refused: Sequence[RefusedRequest],
) -> ChoosePlanPage:  # fmt: skip
    """Describe the offered plans. `last_day` is the last day on which a plan can start, and `typed`
    has the form's fields, including `offer`."""
    plans, outstanding_cents = request_facts.plans, request_facts.facts.outstanding_cents
    offered = select_offered_plans(plans, request_facts.modalities)
    offer = typed.get("offer", "")
    is_known = offer == OWN or any(str(each.count) == offer for each in offered)
    return ChoosePlanPage(
        currency=opened.facts.currency,
        outstanding_cents=outstanding_cents,
        plans=[_describe_plan(each, outstanding_cents) for each in offered],
        offer=offer if is_known else "",
        own=OWN,
        has_more=len(plans) > len(offered) or offer == OWN,
        min_cents=compute_instalment_cents(plans[-1], request_facts.facts),
        first_day=request_facts.today,
        last_day=last_day,
        typed=typed,
        refused=refused,
    )


def describe_plan_check(
    opened: OpenedClaim, request_facts: ModalityRequestFacts, terms: PlanTerms, *, is_changed: bool
) -> PlanCheckPage:
    total_cents = request_facts.facts.outstanding_cents
    return PlanCheckPage(
        currency=opened.facts.currency,
        schedule=terms.schedule(total_cents),
        total_cents=total_cents,
        grace_days=GRACE.days,
        is_approved_at_once=is_approved_automatically(
            terms, request_facts.modalities, request_facts.earlier
        ),
        is_changed=is_changed,
    )


def describe_later_check(
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
    terms: DeferralTerms,
    *,
    is_changed: bool,
) -> LaterCheckPage:
    return LaterCheckPage(
        currency=opened.facts.currency,
        outstanding_cents=opened.facts.outstanding_cents,
        until=terms.until,
        is_approved_at_once=is_approved_automatically(
            terms, request_facts.modalities, request_facts.earlier
        ),
        is_changed=is_changed,
    )


def describe_modality(
    opened: OpenedClaim, modality: Modality, now: datetime, *, can_pay: bool,
    has_direct_debit: bool, note: str | None,
) -> DebtorModalityPage:  # fmt: skip
    """Describe the modality. `now` is the merchant's time. `has_direct_debit` says whether the
    merchant offers direct debits."""
    configuration = opened.merchant.configuration
    answer_on = _find_answer_day(modality, configuration)
    outstanding_cents, has_confirmation = (
        opened.facts.outstanding_cents,
        is_active_or_fulfilled(modality),
    )
    email = opened.facts.on_file.email if has_confirmation else None
    instalment = find_open_instalment(modality)
    is_part = instalment is not None and instalment.left_cents < outstanding_cents
    return DebtorModalityPage(
        modality=modality,
        is_plan=modality.type is ModalityType.PAYMENT_PLAN,
        reason=modality.ended_reason,
        timezone=configuration.timezone,
        currency=opened.facts.currency,
        outstanding_cents=outstanding_cents,
        answer_on=answer_on,
        is_late=answer_on is not None and answer_on < local_date(now, configuration.timezone),
        next_instalment=next((each for each in modality.schedule if not each.is_paid), None),
        instalment_cents=instalment.left_cents if instalment is not None and is_part else None,
        has_confirmation=has_confirmation,
        masked=None if email is None else mask_address("EMAIL", email),
        can_pay=can_pay,
        has_direct_debit=(
            modality.type is ModalityType.PAYMENT_PLAN
            and modality.ended_at is None
            and modality.currency == CURRENCY
            and has_direct_debit
        ),
        grace_days=GRACE.days,
        note=note,
    )


def _find_answer_day(modality: Modality, configuration: Configuration) -> date | None:
    """Find the day by which the request is answered. Return None if it does not wait for an
    answer."""
    if modality.state is not ModalityState.REQUESTED or modality.ended_at is not None:
        return None
    within = configuration.modalities.answer_within_days
    return compute_response_day(modality, within, configuration.timezone)


def _describe_plan(terms: PlanTerms, total_cents: int) -> ShownPlan:
    days = [add_months(terms.first_on, month) for month in range(terms.count)]
    return ShownPlan(terms.count, compute_shares(total_cents, terms.count), days)
