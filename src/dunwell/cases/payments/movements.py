"""Movements of money as they are stored, and the rules for them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.core.claims.states import ACTIVE, Status

# The kind of a reversal by the merchant, which no provider lists.
REVERSED = "REVERSED"
# All kinds of movements.
MOVEMENT_KINDS = (*(each.value for each in MovementKind), REVERSED)
# The kind of a movement that brings money back to the merchant -> the kind of the earlier movement,
# with the same id, that took the money.
RETURN_OF: Mapping[MovementKind, MovementKind] = {
    MovementKind.REFUND_FAILED: MovementKind.REFUNDED,
    MovementKind.CHARGEBACK_REVERSED: MovementKind.CHARGED_BACK,
}


class ReviewReason(StrEnum):
    """Why staff has to look at a movement."""

    # The movement is not in the claim's currency and was not booked.
    OTHER_CURRENCY = "OTHER_CURRENCY"
    # The merchant recorded the same transaction with another amount, or has reversed its payment,
    # so the movement was not booked. Or the provider lists the movement with another amount or
    # currency than before; what is booked stays.
    OTHER_AMOUNT = "OTHER_AMOUNT"
    # Not all of it could be booked: more went back than was left of the payment, or more came back
    # than had been returned.
    NOTHING_TO_RETURN = "NOTHING_TO_RETURN"
    # The money of a refund came back to the merchant.
    REFUND_FAILED = "REFUND_FAILED"
    # A refund with one of Dunwell's keys whose order is missing, as after a restore. The amount is
    # owed again, because the effect that was chosen for the refund is unknown.
    UNKNOWN_ORDER = "UNKNOWN_ORDER"
    # The movement changed the balance of an archived or withdrawn claim.
    CLAIM_ENDED = "CLAIM_ENDED"


@dataclass(frozen=True, slots=True)
class PaymentMovement:
    """A stored movement. Its key is (merchant, provider, movement id, kind)."""

    # Dunwell's own id.
    record_id: UUID
    # The name of the provider's account; DIRECT_DEBIT for a debit that the bank collects; "bank:"
    # and the name of the bank account for a return on a statement; empty for a reversal by the
    # merchant.
    provider: str
    movement_id: str
    # A MovementKind, or REVERSED.
    kind: str
    claim_id: int
    # The payment request to which the movement belongs, if any.
    request_id: UUID | None
    # The payment that the movement created or changed. None if the movement was not booked.
    payment_id: UUID | None
    amount_cents: int
    currency: str
    # The part that was booked to the payment.
    booked_cents: int
    # When the money moved, as the provider or a bank statement says; otherwise as `recorded_at`.
    moved_at: datetime
    # The merchant's time.
    recorded_at: datetime
    review_reason: ReviewReason | None
    reviewed_at: datetime | None

    @property
    def needs_review(self) -> bool:
        return self.review_reason is not None and self.reviewed_at is None


def decide_return_review(
    amount_cents: int, booked_cents: int, status: Status
) -> ReviewReason | None:
    """Return why staff has to look at a movement that returned money to the debtor or brought it
    back, or None. `booked_cents` of its `amount_cents` were booked. `status` is the claim's."""
    if booked_cents < amount_cents:
        return ReviewReason.NOTHING_TO_RETURN
    has_ended = status not in (*ACTIVE, Status.COLLECTED)
    return ReviewReason.CLAIM_ENDED if has_ended else None


def compute_shortfall(known: Iterable[PaymentMovement], currency: str) -> int:
    """Return how many cents of one payment request went back to the debtor beyond what was left of
    its payments. They could not be booked, and money that comes back covers them first.

    For example, of a refund and a chargeback of the whole payment, only the first is booked.
    """
    shortfall = 0
    for each in known:
        missing_cents = each.amount_cents - each.booked_cents
        if each.currency != currency or each.kind in (MovementKind.PAID, REVERSED):
            continue
        shortfall += -missing_cents if each.kind in RETURN_OF else missing_cents
    return max(0, shortfall)


def order_movements(listed: Iterable[MoneyMovement]) -> list[MoneyMovement]:
    """Return the movements in the order in which they are booked: what was paid first, and money
    that came back after the movement that took it."""
    return sorted(
        listed,
        key=lambda each: (
            each.kind is not MovementKind.PAID,
            each.moved_at,
            each.kind in RETURN_OF,
            each.movement_id,
        ),
    )
