"""The SQL of payouts of payment providers: which are known, and which have arrived."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.cases.payments.provider import Payout
from dunwell.platform.database.database import Connection

_INSERT_PAYOUTS = """
INSERT INTO provider_payouts
    (merchant_id, provider, recorded_at, record_id, payout_id, amount_cents, fees_cents, currency,
     paid_at, movements)
SELECT $1, $2, $3, record_id, payout_id, amount_cents, fees_cents, currency, paid_at,
       movements::jsonb
FROM unnest($4::uuid[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::timestamptz[],
            $10::text[])
    AS p (record_id, payout_id, amount_cents, fees_cents, currency, paid_at, movements)
ON CONFLICT (merchant_id, provider, payout_id) DO NOTHING
RETURNING payout_id
"""
# Uses provider_payouts_awaited.
_LIST_AWAITED = """
SELECT provider, payout_id, amount_cents, fees_cents, currency, paid_at
FROM provider_payouts
WHERE merchant_id = $1 AND arrived_at IS NULL AND amount_cents = ANY($2::bigint[])
"""
_SAVE_ARRIVED = """
UPDATE provider_payouts
SET arrived_at = $4, entry_id = $5, number = $6
WHERE merchant_id = $1 AND provider = $2 AND payout_id = $3
"""


async def insert_payouts(
    tx: Connection, merchant_id: int, provider: str, listed: Mapping[UUID, Payout], now: datetime
) -> int:
    """Insert the payouts that are not known, each with the id that it is to have. Return how many
    there are."""
    given = listed.values()
    rows = await tx.fetch(
        _INSERT_PAYOUTS, merchant_id, provider, now, list(listed),
        [each.payout_id for each in given], [each.amount_cents for each in given],
        [each.fees_cents for each in given], [each.currency for each in given],
        [each.paid_at for each in given], [_encode_movements(each) for each in given],
    )  # fmt: skip
    return len(rows)


def _encode_movements(payout: Payout) -> str:
    pairs = [(each.movement_id, each.amount_cents) for each in payout.movements]
    return msgspec.json.encode(pairs).decode()


@dataclass(frozen=True, slots=True)
class AwaitedPayout:
    provider: str
    payout_id: str
    amount_cents: int
    fees_cents: int
    currency: str
    paid_at: datetime


async def list_awaited_payouts(
    tx: Connection, merchant_id: int, amounts: Collection[int]
) -> list[AwaitedPayout]:
    """Return the payouts of these amounts that have not been found on a statement."""
    rows = await tx.fetch(_LIST_AWAITED, merchant_id, sorted(amounts))
    return [AwaitedPayout(**row) for row in rows]


async def save_arrival(
    tx: Connection, merchant_id: int, payout: tuple[str, str], arrived_at: datetime,
    transaction: tuple[UUID, int],
) -> None:  # fmt: skip
    """Save when a payout (provider, id) was found on a statement, and as which transaction."""
    await tx.execute(_SAVE_ARRIVED, merchant_id, *payout, arrived_at, *transaction)


async def save_awaited(tx: Connection, merchant_id: int, payout: tuple[str, str]) -> None:
    """Save that a payout (provider, id) has not arrived after all."""
    await tx.execute(_SAVE_ARRIVED, merchant_id, *payout, None, None, None)
