"""Which seal of the ledger covers what was sent."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.database.database import Connection

# By primary key, then on contact_ledger_once.
_LOAD = """
SELECT l.seal, s.sealed_at
FROM communications m
JOIN contact_ledger l ON l.merchant_id = m.merchant_id AND l.claim_id = m.claim_id
    AND l.run = m.run AND l.step_id = m.step_id AND l.place = m.place
    AND l.outcome IN ('ACCEPTED', 'SETTLED_SENT')
LEFT JOIN ledger_seals s ON s.merchant_id = l.merchant_id AND s.seal = l.seal
WHERE m.merchant_id = $1 AND m.communication_id = $2
"""


@dataclass(frozen=True, slots=True)
class ContactSeal:
    """seal: none for the seconds until it is put on."""

    seal: int | None
    sealed_at: datetime | None


async def read_seal(work: Work, communication_id: UUID) -> ContactSeal | None:
    """None: nothing of it stands in the ledger, as nothing was sent."""
    work.need(Right.READ_CLAIMS)
    return await load_seal(work.tx, work.merchant_id, communication_id)


async def load_seal(tx: Connection, merchant_id: int, communication_id: UUID) -> ContactSeal | None:
    row = await tx.fetchrow(_LOAD, merchant_id, communication_id)
    return None if row is None else ContactSeal(**row)
