"""A payout of a merchant's payment provider, with movements of its claims."""

from datetime import datetime
from uuid import UUID

from dunwell.cases.payments.provider import Payout, PayoutMovement
from dunwell.cases.statements.payouts.list_payouts import list_payouts
from dunwell.cases.statements.payouts.record_payouts import record_payouts
from tests.support.harness import Harness

PROVIDER = "stripe-main"
_MOVE = (
    "INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind, claim_id,"
    " amount_cents, currency, booked_cents, moved_at, recorded_at) VALUES"
    " ($1, gen_random_uuid(), $2, $3, $4, $5, $6, 'EUR', 0, $7, $7) RETURNING record_id"
)


async def move(harness: Harness, claim_id: int, movement_id: str, kind: str, cents: int) -> UUID:
    """Insert a movement of a claim at the provider, and return our id."""
    now = harness.clock.now()
    [row] = await harness.rows(_MOVE, PROVIDER, movement_id, kind, claim_id, cents, now)
    record_id: UUID = row["record_id"]
    return record_id


async def pay_out(
    harness: Harness, cents: int, fees: int, *parts: tuple[str, int],
    paid_at: datetime | None = None, payout_id: str = "po_1",
) -> UUID:  # fmt: skip
    """Record a payout with these movements (id, cents), and return our id."""
    movements = [PayoutMovement(*each) for each in parts]
    paid_at = paid_at or harness.clock.now()
    payout = Payout(payout_id, cents, fees, "EUR", paid_at, movements)
    async with harness.work() as work:
        await record_payouts(work, PROVIDER, [payout])
    async with harness.work() as work:
        listed = await list_payouts(work, limit=50)
    [found] = [each for each in listed.items if each.payout_id == payout_id]
    return found.record_id
