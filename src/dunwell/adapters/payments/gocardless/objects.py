"""The objects of GoCardless' API as far as they are used, and what they mean for the port.

A payment can be confirmed, fail afterwards, be charged back, and be confirmed again. Its status
shows only the latest of these, so its movements are read from its events. The id of a movement is
the payment's id, followed by a number for the second and later movements of the same kind. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from dunwell.adapters.payments.api_values import (
    Cents,
    Id,
    PageUrl,
    SignedCents,
    clean_text,
    find_refund_key,
    is_id,
)
from dunwell.cases.payments.provider import (
    CheckoutRequest,
    CheckoutStatus,
    MoneyMovement,
    MovementKind,
    NotificationRejected,
    Payout,
    PayoutMovement,
)

_MAX_DESCRIPTION = 140
_MAX_REASON = 40
_CONFIRMED = ("confirmed", "paid_out")
_FAILED = ("failed", "customer_approval_denied")
_TAKEN_BACK = ("failed", "charged_back")
# A refund that was cancelled or came back has two movements: the first may already be booked.
_REFUND_KINDS = {
    "submitted": (MovementKind.REFUNDED,),
    "paid": (MovementKind.REFUNDED,),
    "cancelled": (MovementKind.REFUNDED, MovementKind.REFUND_FAILED),
    "bounced": (MovementKind.REFUNDED, MovementKind.REFUND_FAILED),
    "funds_returned": (MovementKind.REFUNDED, MovementKind.REFUND_FAILED),
}
# The links of a notified event that name objects which this adapter reads.
_LINK_NAMES = ("billing_request", "payment", "refund", "mandate", "payout")

Instant = Annotated[datetime, Meta(tz=True)]
Currency = Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)")]
Content = TypeVar("Content")


class BillingRequestLinks(msgspec.Struct, frozen=True):
    payment_request_payment: Id | None = None
    mandate_request_mandate: Id | None = None


class BillingRequest(msgspec.Struct, frozen=True):
    id: Id
    status: str
    links: BillingRequestLinks = BillingRequestLinks()


class BillingRequestAnswer(msgspec.Struct, frozen=True):
    billing_requests: BillingRequest


class BillingRequestFlow(msgspec.Struct, frozen=True):
    authorisation_url: PageUrl
    expires_at: Instant | None = None


class BillingRequestFlowAnswer(msgspec.Struct, frozen=True):
    billing_request_flows: BillingRequestFlow


class GoCardlessPayment(msgspec.Struct, frozen=True):
    id: Id
    status: str
    amount: Cents
    currency: Currency
    created_at: Instant
    amount_refunded: Cents = 0
    charge_date: date | None = None
    scheme: str | None = None
    metadata: dict[str, str] = {}


class PaymentAnswer(msgspec.Struct, frozen=True):
    payments: GoCardlessPayment


class _EventDetails(msgspec.Struct, frozen=True):
    # The general cause, such as "insufficient_funds".
    cause: str | None = None
    # The scheme's code, such as "AM04".
    reason_code: str | None = None


class GoCardlessEvent(msgspec.Struct, frozen=True):
    id: Id
    action: str
    created_at: Instant
    details: _EventDetails = _EventDetails()


class GoCardlessRefund(msgspec.Struct, frozen=True):
    id: Id
    amount: Cents
    currency: Currency
    created_at: Instant
    status: str = ""
    metadata: dict[str, str] = {}


class RefundAnswer(msgspec.Struct, frozen=True):
    refunds: GoCardlessRefund


class GoCardlessPayout(msgspec.Struct, frozen=True):
    id: Id
    status: str
    amount: SignedCents
    deducted_fees: SignedCents
    currency: Currency
    created_at: Instant
    arrival_date: date | None = None


class _ItemLinks(msgspec.Struct, frozen=True):
    payment: Id | None = None
    refund: Id | None = None


class PayoutItem(msgspec.Struct, frozen=True):
    type: str
    # Cents, with a decimal place for parts of a cent. Negative for money that is deducted.
    amount: Annotated[str, Meta(pattern=r"^-?[0-9]{1,12}(\.[0-9]+)?$(?!\n)")]
    links: _ItemLinks = _ItemLinks()


class _Cursors(msgspec.Struct, frozen=True):
    after: Id | None = None


class _ListMeta(msgspec.Struct, frozen=True):
    cursors: _Cursors = _Cursors()


class EventPage(msgspec.Struct, frozen=True):
    events: list[GoCardlessEvent]
    meta: _ListMeta


class PaymentListPage(msgspec.Struct, frozen=True):
    payments: list[GoCardlessPayment]
    meta: _ListMeta


class RefundPage(msgspec.Struct, frozen=True):
    refunds: list[GoCardlessRefund]
    meta: _ListMeta


class PayoutPage(msgspec.Struct, frozen=True):
    payouts: list[GoCardlessPayout]
    meta: _ListMeta


class PayoutItemPage(msgspec.Struct, frozen=True):
    payout_items: list[PayoutItem]
    meta: _ListMeta


class _ErrorLinks(msgspec.Struct, frozen=True):
    conflicting_resource_id: str | None = None


class _ErrorPart(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    links: _ErrorLinks = _ErrorLinks()


class GoCardlessError(msgspec.Struct, frozen=True):
    message: str = ""
    errors: list[_ErrorPart] = []

    @property
    def reason(self) -> str:
        parts = dict.fromkeys([self.message, *(each.message for each in self.errors)])
        return ", ".join(filter(None, parts))

    @property
    def conflicting_id(self) -> str | None:
        """The id of the object that was created by an earlier request with the same key."""
        conflicting_ids = (
            each.links.conflicting_resource_id
            for each in self.errors
            if each.reason == "idempotent_creation_conflict"
        )
        return next((each for each in conflicting_ids if each is not None and is_id(each)), None)


class _ErrorBody(msgspec.Struct, frozen=True):
    error: GoCardlessError = GoCardlessError()


class _NotifiedEvent(msgspec.Struct, frozen=True):
    id: Id
    links: dict[str, Any] = {}


class _Notification(msgspec.Struct, frozen=True):
    events: list[_NotifiedEvent]


def build_billing_request(request: CheckoutRequest) -> dict[str, Any]:
    metadata = {"reference": request.reference, "dunwell_request": str(request.request_id)}
    payment = {
        "description": clean_text(request.description, _MAX_DESCRIPTION),
        "amount": request.amount_cents,
        "currency": request.currency,
        "metadata": metadata,
    }
    return {"billing_requests": {"payment_request": payment, "metadata": metadata}}


def build_flow(request: CheckoutRequest, billing_request_id: str) -> dict[str, Any]:
    flow = {
        "redirect_uri": request.return_url,
        "exit_uri": request.return_url,
        "language": request.language,
        "links": {"billing_request": billing_request_id},
    }
    return {"billing_request_flows": flow}


def decide_request_status(status: str) -> CheckoutStatus:
    """Return the status of a billing request that has no payment."""
    if status == "pending":
        return CheckoutStatus.OPEN
    return CheckoutStatus.CANCELLED if status == "cancelled" else CheckoutStatus.PENDING


def find_failure_reason(events: Sequence[GoCardlessEvent]) -> str | None:
    """Return why the money was not collected or was taken back: the scheme's code or the cause in
    the newest of these events that has one, or None. `events`: newest first."""
    newest_first = sorted(events, key=lambda each: each.created_at, reverse=True)
    for event in newest_first:
        reason = event.details.reason_code or event.details.cause
        if event.action in (*_TAKEN_BACK, *_FAILED) and reason is not None:
            return clean_text(reason, _MAX_REASON)
    return None


def decide_payment_status(payment: GoCardlessPayment, *, was_paid: bool) -> CheckoutStatus:
    """Return the status of a payment. `was_paid`: its money was received once, even if it was
    charged back later."""
    if was_paid:
        return CheckoutStatus.PAID
    if payment.status == "cancelled":
        return CheckoutStatus.CANCELLED
    return CheckoutStatus.FAILED if payment.status in _FAILED else CheckoutStatus.PENDING


def list_payment_movements(
    payment: GoCardlessPayment, events: Sequence[GoCardlessEvent]
) -> list[MoneyMovement]:
    """Return the movements of a payment in the order of its events. `events`: newest first."""
    movements = _Movements(payment)
    oldest_first = events[::-1]
    for event in sorted(oldest_first, key=lambda each: each.created_at):
        movements.add(event.action, event.created_at)
    # GoCardless deletes events after 18 months. The movements are then derived from the status.
    charged_on = payment.charge_date or payment.created_at.date()
    charged_at = datetime.combine(charged_on, time(), UTC)
    if payment.status in (*_CONFIRMED, "charged_back") and not movements.found:
        movements.add("confirmed", charged_at)
    # A chargeback that the events contain is not added again from the status. An event that is
    # newer than the status may already have reversed it.
    has_chargeback = any(each.kind is MovementKind.CHARGED_BACK for each in movements.found)
    if payment.status == "charged_back" and not has_chargeback:
        movements.add("charged_back", charged_at)
    return movements.found


class _Movements:
    """Collects the movements of one payment."""

    def __init__(self, payment: GoCardlessPayment) -> None:
        self._payment = payment
        # True while the merchant has the money of the payment.
        self._has_money = False
        self.found: list[MoneyMovement] = []

    def add(self, action: str, moved_at: datetime) -> None:
        """Add the movement of an action, if it moves money. An action that repeats an earlier one,
        such as "paid_out" after "confirmed", adds nothing."""
        kind = self._find_kind(action)
        if kind is None:
            return
        self._has_money = not self._has_money
        number = 1 + sum(each.kind is kind for each in self.found)
        payment = self._payment
        movement_id = payment.id if number == 1 else f"{payment.id}-{number}"
        is_paid = kind is MovementKind.PAID
        self.found.append(
            MoneyMovement(
                movement_id, kind, payment.amount, payment.currency, moved_at=moved_at,
                method=_describe_scheme(payment.scheme) if is_paid else None,
            )
        )  # fmt: skip

    def _find_kind(self, action: str) -> MovementKind | None:
        if action in _TAKEN_BACK:
            return MovementKind.CHARGED_BACK if self._has_money else None
        if self._has_money:
            return None
        if action == "chargeback_cancelled":
            return MovementKind.CHARGEBACK_REVERSED if self.found else None
        return MovementKind.PAID if action in _CONFIRMED else None


def _describe_scheme(scheme: str | None) -> str | None:
    return None if scheme is None else clean_text(scheme.replace("_", " ").capitalize(), 60)


def list_refund_movements(refunds: Iterable[GoCardlessRefund]) -> Iterator[MoneyMovement]:
    for refund in refunds:
        for kind in _REFUND_KINDS.get(refund.status, ()):
            yield MoneyMovement(
                refund.id, kind, refund.amount, refund.currency, moved_at=refund.created_at,
                refund_key=find_refund_key(refund.metadata),
            )  # fmt: skip


def build_payout(payout: GoCardlessPayout, items: Sequence[PayoutItem]) -> Payout:
    arrives_on = payout.arrival_date or payout.created_at.date()
    # One payment can have several items, for example its taxes.
    cents: dict[str, Decimal] = {}
    for item in items:
        movement_id = item.links.refund or item.links.payment or item.type
        if "fee" not in item.type:
            cents[movement_id] = cents.get(movement_id, Decimal(0)) + Decimal(item.amount)
    return Payout(
        payout_id=payout.id,
        amount_cents=payout.amount,
        fees_cents=payout.deducted_fees,
        currency=payout.currency,
        paid_at=datetime.combine(arrives_on, time(), UTC),
        movements=[PayoutMovement(name, round(amount)) for name, amount in cents.items()],
    )


def parse_events(body: bytes) -> list[str]:
    """Return the ids that the events of a notification name. Raises NotificationRejected."""
    try:
        events = msgspec.json.decode(body, type=_Notification).events
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotificationRejected("The notification cannot be read.") from error
    ids = [_find_id(event.links, name) for event in events for name in _LINK_NAMES]
    return [each for each in dict.fromkeys(ids) if each is not None]


def _find_id(links: Mapping[str, Any], name: str) -> str | None:
    linked_id = links.get(name)
    return linked_id if isinstance(linked_id, str) and is_id(linked_id) else None


def parse_error(body: bytes) -> GoCardlessError:
    """Return the error in the body of any answer; an empty one if there is no readable error."""
    try:
        return msgspec.json.decode(body, type=_ErrorBody).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return GoCardlessError()
