"""The SQL of answers to requests that their debtors have not been told of."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.kit.db import Connection

# Over all merchants. Rides on payment_modalities_untold.
_FIND = """
SELECT merchant_id, claim_id, modality_id
FROM payment_modalities
WHERE is_untold
ORDER BY merchant_id, modality_id
LIMIT $1
"""
# By primary key.
_TAKE = """
UPDATE payment_modalities
SET is_untold = false
WHERE merchant_id = $1 AND modality_id = $2 AND is_untold
RETURNING true
"""


@dataclass(frozen=True, slots=True)
class Untold:
    merchant_id: int
    claim_id: int
    modality_id: UUID


async def find_untold(tx: Connection, limit: int) -> Sequence[Untold]:
    rows = await tx.fetch(_FIND, limit)
    return [Untold(row["merchant_id"], row["claim_id"], row["modality_id"]) for row in rows]


async def take_untold(tx: Connection, untold: Untold) -> bool:
    """Whether it is the caller's to tell; nobody else does it once the caller has committed."""
    return bool(await tx.fetchval(_TAKE, untold.merchant_id, untold.modality_id))
