"""The SQL of payouts of payment providers: which are known, and which have arrived."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from dunwell.cases.payments.provider import Payout
from dunwell.platform.database.database import Connection

# An entry of a statement can be a payout if it was booked at most this long before or after the
# provider's date.
PAYOUT_EARLY = timedelta(days=2)
PAYOUT_LATE = timedelta(days=12)
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
# Makes open transactions that no person has decided about new, so that they are matched again. Uses
# bank_transactions_open.
_MATCH_AGAIN = """
UPDATE bank_transactions t
SET state = 'NEW'
FROM unnest($2::bigint[], $3::text[], $4::date[], $5::date[])
    AS p (amount_cents, currency, first_day, last_day)
WHERE t.merchant_id = $1 AND t.state = 'OPEN' AND NOT t.is_decided AND t.resembles_on IS NULL
  AND t.problem IS NULL AND t.amount_cents = p.amount_cents AND t.currency = p.currency
  AND t.booked_on BETWEEN p.first_day AND p.last_day
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
) -> list[Payout]:
    """Insert the payouts that are not known, each with the record id for which it is listed, and
    return them."""
    payouts = listed.values()
    rows = await tx.fetch(
        _INSERT_PAYOUTS, merchant_id, provider, now, list(listed),
        [each.payout_id for each in payouts], [each.amount_cents for each in payouts],
        [each.fees_cents for each in payouts], [each.currency for each in payouts],
        [each.paid_at for each in payouts], [_encode_movements(each) for each in payouts],
    )  # fmt: skip
    new_ids = {row["payout_id"] for row in rows}
    return [each for each in payouts if each.payout_id in new_ids]


async def match_entries_again(tx: Connection, merchant_id: int, payouts: Sequence[Payout]) -> None:
    """Let the open transactions that can be one of these payouts be matched again."""
    await tx.execute(
        _MATCH_AGAIN, merchant_id, [each.amount_cents for each in payouts],
        [each.currency for each in payouts],
        [(each.paid_at - PAYOUT_EARLY).date() for each in payouts],
        [(each.paid_at + PAYOUT_LATE).date() for each in payouts],
    )  # fmt: skip


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
    """Save that a payout (provider, id) is awaited again, because its match was undone."""
    await tx.execute(_SAVE_ARRIVED, merchant_id, *payout, None, None, None)
