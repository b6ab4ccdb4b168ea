"""The SQL of one claim's account: rows in, values out, no rules."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.kit.db import Connection

# Rides on the payments' unique key (merchant_id, claim_id, transaction_id).
_LOAD = """
SELECT payment_id, amount_cents, paid_at, reversed_at,
       coalesce(provider_name || ' ', '') || transaction_id AS words
FROM payments
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY paid_at, payment_id
"""


@dataclass(frozen=True, slots=True)
class PaidRow:
    payment_id: UUID
    amount_cents: int
    paid_at: datetime
    reversed_at: datetime | None
    words: str


async def load_paid_rows(tx: Connection, merchant_id: int, claim_id: int) -> list[PaidRow]:
    return [PaidRow(**row) for row in await tx.fetch(_LOAD, merchant_id, claim_id)]
