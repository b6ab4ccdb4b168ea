"""What the state of a claim means for its page: what is shown, and what can be done. Pure."""

from datetime import date, datetime
from enum import StrEnum

from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.modality import (
    HOLD_KINDS,
    Modality,
    ModalityState,
    ModalityType,
    find_open_instalment,
)
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER, PaymentRequestState
from dunwell.core.claims.states import HoldKind, Status
from dunwell.interfaces.landing.session.facts import HoldFacts, PageClaim

_MAX_INITIALS = 3


class PageState(StrEnum):
    OPEN = "OPEN"
    # A payment is being processed.
    PENDING = "PENDING"
    # Stopped by a hold. It can still be paid.
    HELD = "HELD"
    PAID = "PAID"
    # Archived or withdrawn: the page shows the creditor's contact and no amounts.
    CLOSED = "CLOSED"


class Topic(StrEnum):
    """A notice about the claim next to its amount. There can be several at once."""

    PAYMENT_PENDING = "PAYMENT_PENDING"
    PLAN_REQUESTED = "PLAN_REQUESTED"
    DEFERMENT_REQUESTED = "DEFERMENT_REQUESTED"
    PLAN_ACTIVE = "PLAN_ACTIVE"
    DEFERRED = "DEFERRED"
    DISPUTED = "DISPUTED"
    # The claim's disputes are answered, and the quiet days after the answer are not over.
    RESTING = "RESTING"
    # The claim's payment plan was broken, and the day after the notice is not over.
    PLAN_ENDED = "PLAN_ENDED"
    PAUSED = "PAUSED"


class PaymentOutcome(StrEnum):
    """The outcome of a payment, as the return page shows it."""

    RECEIVED = "RECEIVED"
    PENDING = "PENDING"
    # The debtor has left the provider's page, and the provider has not reported a payment.
    LEFT = "LEFT"
    ENDED = "ENDED"


_TOPICS = {
    (ModalityType.PAYMENT_PLAN, ModalityState.REQUESTED): Topic.PLAN_REQUESTED,
    (ModalityType.PAYMENT_PLAN, ModalityState.APPROVED): Topic.PLAN_ACTIVE,
    (ModalityType.PAYMENT_DEFEREMENT, ModalityState.REQUESTED): Topic.DEFERMENT_REQUESTED,
    (ModalityType.PAYMENT_DEFEREMENT, ModalityState.APPROVED): Topic.DEFERRED,
}
_BY_HOLD = {HoldKind.DISPUTE: Topic.DISPUTED, HoldKind.PAUSE: Topic.PAUSED}
_CLOSED = (Status.ARCHIVED, Status.WITHDRAWN)
_OUTCOMES = {
    PaymentRequestState.COMPLETED: PaymentOutcome.RECEIVED,
    PaymentRequestState.PENDING: PaymentOutcome.PENDING,
    PaymentRequestState.CREATED: PaymentOutcome.LEFT,
    PaymentRequestState.OPEN: PaymentOutcome.LEFT,
}


def decide_state(facts: PageClaim, now: datetime) -> PageState:
    """Decide the state of the page. `now` is the merchant's time, which its holds follow."""
    if facts.status in _CLOSED:
        return PageState.CLOSED
    if facts.status is Status.COLLECTED or facts.outstanding_cents == 0:
        return PageState.PAID
    active_holds = list_active_holds(facts, now)
    if is_provider_awaited(facts) or any(
        hold.kind is HoldKind.PAYMENT_PENDING for hold in active_holds
    ):
        return PageState.PENDING
    return PageState.HELD if active_holds else PageState.OPEN


def list_topics(
    facts: PageClaim, state: PageState, modality: Modality | None, now: datetime
) -> list[Topic]:
    """Return the notices of the page in their order. There are none for a paid or closed claim.

    `state` comes from `decide_state`, and `modality` is the one that has not ended. The level of
    the session does not matter here.
    """
    if state in (PageState.CLOSED, PageState.PAID):
        return []
    kinds = {hold.kind for hold in list_active_holds(facts, now)}
    found = [Topic.PAYMENT_PENDING] if state is PageState.PENDING else []
    if modality is not None and kinds.intersection(HOLD_KINDS):
        found.append(_TOPICS[modality.type, modality.state])
    elif modality is None and HoldKind.MODALITY_ACTIVE in kinds:
        found.append(Topic.PLAN_ENDED)
    topics = _BY_HOLD | ({HoldKind.DISPUTE: Topic.RESTING} if is_answered(facts) else {})
    found += [topic for kind, topic in topics.items() if kind in kinds]
    # The claim is held for a reason that the page does not know.
    return found or ([Topic.PAUSED] if state is PageState.HELD else [])


def is_answered(facts: PageClaim) -> bool:
    """Return whether the claim had disputes and each of them was answered."""
    return facts.answer is not None and not facts.disputes


def find_hold(facts: PageClaim, kind: HoldKind, now: datetime) -> HoldFacts | None:
    """Return the active hold of a kind that ends last."""
    active_holds = [hold for hold in list_active_holds(facts, now) if hold.kind is kind]
    endless = next((hold for hold in active_holds if hold.until is None), None)
    return endless or max(active_holds, key=lambda hold: hold.until or now, default=None)


def find_next_instalment(modality: Modality | None) -> Instalment | None:
    """Return the first instalment of an active plan that is not paid in full."""
    return None if modality is None else find_open_instalment(modality)


def is_closed(facts: PageClaim) -> bool:
    return facts.status in _CLOSED


def is_payable(state: PageState) -> bool:
    return state in (PageState.OPEN, PageState.HELD)


def is_provider_awaited(facts: PageClaim) -> bool:
    """Return whether the newest payment request is waiting for the provider. An announced bank
    transfer never is: it is awaited as long as its hold is active."""
    request = facts.request
    return (
        request is not None
        and request.state == PaymentRequestState.PENDING
        and request.provider != BANK_TRANSFER
    )


def find_announced_transfer(facts: PageClaim, now: datetime) -> date | None:
    """Return when the awaited bank transfer was sent, or None if there is none."""
    has_payment_hold = any(
        hold.kind is HoldKind.PAYMENT_PENDING for hold in list_active_holds(facts, now)
    )
    request = facts.request
    if request is None or request.state != PaymentRequestState.PENDING or not has_payment_hold:
        return None
    return request.sent_on


def list_active_holds(facts: PageClaim, now: datetime) -> list[HoldFacts]:
    return [hold for hold in facts.holds if hold.until is None or now < hold.until]


def decide_outcome(state: PaymentRequestState) -> PaymentOutcome:
    return _OUTCOMES.get(state, PaymentOutcome.ENDED)


def render_initials(facts: PageClaim) -> str:
    """Render the debtor's initials, such as "E. M.". A link alone may show no more."""
    words = [word.strip() for word in (facts.first_name, facts.last_name) if word]
    if not words:
        words = (facts.company_name or "").split()[:_MAX_INITIALS]
    letters = [word[:1].upper() for word in words]
    return "\N{NO-BREAK SPACE}".join(f"{letter}." for letter in letters if letter.isalnum())
