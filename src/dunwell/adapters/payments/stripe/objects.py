"""The objects of Stripe's API as far as they are used, and what they mean for the port.

A PAID movement has the id of its charge, a refund and a chargeback those of the refund and the
dispute. A dispute counts only once it has moved money. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.adapters.payments.api_values import (
    Cents,
    Id,
    PageUrl,
    SignedCents,
    Timestamp,
    clean_text,
    find_refund_key,
    from_timestamp,
    get_means_name,
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

_MAX_DESCRIPTION = 250
_MAX_METHOD = 60
# Our means of payment in Stripe's words.
_METHODS: Mapping[PaymentMeans, str] = {
    "CARD": "card",
    "PAYPAL": "paypal",
    "IDEAL": "ideal",
    "KLARNA": "klarna",
    "SEPA_DEBIT": "sepa_debit",
}


class StripeBalanceTransaction(msgspec.Struct, frozen=True):
    id: Id
    amount: SignedCents
    currency: str
    created: Timestamp
    fee: SignedCents = 0
    type: str = ""
    source: str | None = None


class StripeCharge(msgspec.Struct, frozen=True):
    id: Id
    status: str
    amount_captured: Cents
    currency: str
    created: Timestamp
    balance_transaction: StripeBalanceTransaction | None = None
    payment_method_details: dict[str, Any] | None = None


class StripePaymentIntent(msgspec.Struct, frozen=True):
    id: Id
    status: str
    latest_charge: StripeCharge | None = None


class StripeSession(msgspec.Struct, frozen=True):
    id: Id
    status: str
    url: PageUrl | None = None
    expires_at: Timestamp | None = None
    client_reference_id: str | None = None


class ExpandedStripeSession(StripeSession, frozen=True):
    payment_intent: StripePaymentIntent | None = None


class StripeRefund(msgspec.Struct, frozen=True):
    id: Id
    amount: Cents
    currency: str
    created: Timestamp
    status: str | None = None
    metadata: dict[str, str] | None = None


class StripeDispute(msgspec.Struct, frozen=True):
    id: Id
    amount: Cents
    currency: str
    balance_transactions: list[StripeBalanceTransaction]


class StripePayout(msgspec.Struct, frozen=True):
    id: Id
    amount: SignedCents
    currency: str
    arrival_date: Timestamp
    created: Timestamp
    status: str
    automatic: bool = False


Item = TypeVar("Item")


class StripeList(msgspec.Struct, Generic[Item], frozen=True):
    data: list[Item]
    has_more: bool = False


class StripeError(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""


class _ErrorBody(msgspec.Struct, frozen=True):
    error: StripeError = StripeError()


class _EventData(msgspec.Struct, frozen=True):
    object: dict[str, Any]


class _Event(msgspec.Struct, frozen=True):
    id: Id
    type: str
    data: _EventData


def build_session_form(request: CheckoutRequest) -> dict[str, Any]:
    """Build the parameters of a Checkout Session. They have no `expires_at`, so it ends after a
    day."""
    description = clean_text(request.description, _MAX_DESCRIPTION)
    metadata = {"reference": request.reference, "dunwell_request": str(request.request_id)}
    form: dict[str, Any] = {
        "mode": "payment",
        "client_reference_id": str(request.request_id),
        "success_url": request.return_url,
        "cancel_url": request.return_url,
        "locale": request.language,
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": request.currency.lower(),
                    "unit_amount": request.amount_cents,
                    "product_data": {"name": description},
                },
            }
        ],
        "metadata": metadata,
        "payment_intent_data": {"description": description, "metadata": metadata},
    }
    if request.means is not None:
        form["allowed_payment_method_types"] = [get_means_name(_METHODS, request.means)]
    return form


def flatten_form(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the pairs of a form, with names such as `line_items[0][quantity]`."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flatten_form(part, f"{name}[{key}]" if name else key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from flatten_form(part, f"{name}[{index}]")
    else:
        yield name, str(value)


def decide_status(session: ExpandedStripeSession) -> CheckoutStatus:
    """Return the status of a checkout that has no successful charge."""
    if session.status in ("open", "expired"):
        return CheckoutStatus(session.status.upper())
    intent = session.payment_intent
    # A bank debit that failed leaves a completed session with an intent that can be paid again.
    has_failed = intent is not None and intent.status in ("requires_payment_method", "canceled")
    return CheckoutStatus.FAILED if has_failed else CheckoutStatus.PENDING


def build_paid_movement(charge: StripeCharge) -> MoneyMovement:
    """Build the PAID movement of a charge that succeeded."""
    transaction = charge.balance_transaction
    return MoneyMovement(
        charge.id, MovementKind.PAID,
        amount_cents=charge.amount_captured, currency=charge.currency.upper(),
        moved_at=from_timestamp(charge.created if transaction is None else transaction.created),
        method=_describe_method(charge.payment_method_details or {}),
    )  # fmt: skip


def _describe_method(details: Mapping[str, Any]) -> str | None:
    """Return the means of payment, masked: "Visa •••• 4242"."""
    kind = details.get("type")
    if not isinstance(kind, str):
        return None
    part = details.get(kind)
    part = part if isinstance(part, dict) else {}
    name, digits = part.get("brand"), part.get("last4")
    name = name if isinstance(name, str) else kind
    ending = f" •••• {digits}" if isinstance(digits, str) else ""
    return clean_text(f"{name.replace('_', ' ').capitalize()}{ending}", _MAX_METHOD)


def list_refund_movements(refunds: Iterable[StripeRefund]) -> Iterator[MoneyMovement]:
    """Yield the movements of refunds. A refund that is pending or needs an action of the payer has
    none. One that failed or was cancelled has two, because the first may already be booked."""
    for refund in refunds:
        kinds = {
            "succeeded": [MovementKind.REFUNDED],
            "failed": [MovementKind.REFUNDED, MovementKind.REFUND_FAILED],
            "canceled": [MovementKind.REFUNDED, MovementKind.REFUND_FAILED],
        }
        for kind in kinds.get(refund.status or "", ()):
            yield MoneyMovement(
                refund.id, kind, refund.amount, refund.currency.upper(),
                moved_at=from_timestamp(refund.created),
                refund_key=find_refund_key(refund.metadata),
            )  # fmt: skip


def list_dispute_movements(disputes: Iterable[StripeDispute]) -> Iterator[MoneyMovement]:
    """Yield the movements of disputes: money that was withdrawn from the account, and money that
    was reinstated."""
    for dispute in disputes:
        counts = {MovementKind.CHARGED_BACK: 0, MovementKind.CHARGEBACK_REVERSED: 0}
        for moved in dispute.balance_transactions:
            if moved.amount == 0:
                continue
            kind = (
                MovementKind.CHARGED_BACK if moved.amount < 0 else MovementKind.CHARGEBACK_REVERSED
            )
            counts[kind] += 1
            # Money that is withdrawn a second time is a separate movement.
            suffix = "" if counts[kind] == 1 else f"-{counts[kind]}"
            is_same = moved.currency == dispute.currency
            yield MoneyMovement(
                f"{dispute.id}{suffix}", kind,
                # The account may have another currency than the payment.
                amount_cents=abs(moved.amount) if is_same else dispute.amount,
                currency=dispute.currency.upper(),
                moved_at=from_timestamp(moved.created),
            )  # fmt: skip


def build_payout(payout: StripePayout, parts: Sequence[StripeBalanceTransaction]) -> Payout:
    """Build a payout from its balance transactions."""
    contents = [each for each in parts if each.type != "payout"]
    own_fees = sum(-each.amount for each in contents if each.type == "stripe_fee")
    return Payout(
        payout_id=payout.id,
        amount_cents=payout.amount,
        fees_cents=sum(each.fee for each in contents) + own_fees,
        currency=payout.currency.upper(),
        paid_at=from_timestamp(payout.arrival_date),
        movements=[
            PayoutMovement(each.source or each.id, each.amount)
            for each in contents
            if each.type != "stripe_fee"
        ],
    )


def parse_event(body: bytes) -> list[str]:
    """Return the ids of the event's object, its PaymentIntent and its charge, if it names them.
    Raises NotificationRejected."""
    try:
        event = msgspec.json.decode(body, type=_Event)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotificationRejected("The notification cannot be read.") from error
    stripe_object = event.data.object
    ids = [stripe_object.get(key) for key in ("id", "payment_intent", "charge")]
    return [each for each in dict.fromkeys(map(str, filter(None, ids))) if is_id(each)]


def parse_error(body: bytes) -> StripeError:
    """Return the error in the body of any answer; an empty one if there is no readable error."""
    try:
        return msgspec.json.decode(body, type=_ErrorBody).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return StripeError()
