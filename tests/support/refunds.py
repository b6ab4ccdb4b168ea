"""Payments of a scripted provider that are refunded."""

from uuid import UUID

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, list_refunds, order_refund
from dunwell.cases.payments.refunds.store import RefundState, StoredRefund
from dunwell.core.claims.states import Status
from tests.support.payments import PaymentHarness, send_refunds

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1"
_REVIEWS = """
SELECT kind, review_reason FROM payment_movements
WHERE merchant_id = $1 AND review_reason IS NOT NULL
"""


async def pay(payments: PaymentHarness, cents: int = 10240) -> UUID:
    """Pay through the provider, and return the payment's id."""
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_PAYMENTS)
    payment_id: UUID = row["payment_id"]
    return payment_id


async def order(payments: PaymentHarness, payment_id: UUID, **wanted: object) -> StoredRefund:
    async with payments.harness.work() as work:
        return await order_refund(work, payments.claim_id, payment_id, RefundOrder(**wanted))  # type: ignore[arg-type]


async def send(payments: PaymentHarness) -> int:
    return await send_refunds(payments.resources, payments.providers)


async def list_movement(
    payments: PaymentHarness, refund: StoredRefund, kind: MovementKind = MovementKind.REFUNDED
) -> None:
    """Let the provider list the refund's movement, and check the payment."""
    number = f"refund-{refund.refund_id}"
    payments.moves(MoneyMovement(number, kind, refund.amount_cents, "EUR", payments.now))
    await payments.settle(refund.request_id)


async def read_balance(payments: PaymentHarness) -> tuple[Status, int, int]:
    claim = await payments.harness.read(payments.claim_id)
    return claim.status, claim.balance.outstanding_cents, claim.balance.overpaid_cents


async def list_refund_states(payments: PaymentHarness) -> list[RefundState]:
    async with payments.harness.work() as work:
        return [each.state for each in await list_refunds(work, payments.claim_id)]


async def list_review_reasons(payments: PaymentHarness) -> list[tuple[str, str | None]]:
    rows = await payments.harness.rows(_REVIEWS)
    return [(row["kind"], row["review_reason"]) for row in rows]
