"""The SQL of messages that people write to lines: whom they may be about, and keeping them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.kit.db import Connection
from dunwell.sending.incoming import Incoming

# Rides on debtors_mobile_number for each merchant, and on the key of a claim's contacts.
_FIND_WRITTEN_TO = """
SELECT d.merchant_id, d.claim_id
FROM merchants m
JOIN debtors d ON d.merchant_id = m.merchant_id AND d.mobile_number = $2
WHERE EXISTS (SELECT FROM communications c
              WHERE c.merchant_id = d.merchant_id AND c.claim_id = d.claim_id
                AND c.channel = 'SMS' AND c.line = $1 AND c.handed_over_at IS NOT NULL)
ORDER BY d.merchant_id, d.claim_id
LIMIT $3
"""
_SAVE = """
INSERT INTO inbound_sms
    (inbound_id, line, provider_id, sender, recipient, text, received_at, kind, merchant_id,
     claim_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT ON CONSTRAINT inbound_sms_once DO NOTHING
RETURNING inbound_id
"""
# Rides on inbound_sms_received.
_SWEEP = """
DELETE FROM inbound_sms
WHERE inbound_id IN (SELECT inbound_id FROM inbound_sms WHERE received_at < $1
                     ORDER BY received_at LIMIT $2)
"""
_MOST_CLAIMS = 1_000


class WrittenTo(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    claim_id: int


async def find_written_to(tx: Connection, line: str, number: str) -> Sequence[WrittenTo]:
    """Claims whose debtor has this number and was written to by this line, of all merchants."""
    rows = await tx.fetch(_FIND_WRITTEN_TO, line, number, _MOST_CLAIMS)
    return [WrittenTo(row["merchant_id"], row["claim_id"]) for row in rows]


async def save_incoming(
    tx: Connection, inbound_id: UUID, incoming: Incoming, kind: str, claim: WrittenTo | None,
    *, real_now: datetime,
) -> bool:  # fmt: skip
    """Whether it is new."""
    saved = await tx.fetchval(
        _SAVE, inbound_id, incoming.line, incoming.provider_id, incoming.sender,
        incoming.recipient, incoming.text, real_now, kind,
        claim.merchant_id if claim else None, claim.claim_id if claim else None,
    )  # fmt: skip
    return saved is not None


async def sweep_incoming(tx: Connection, before: datetime, limit: int) -> int:
    """Takes out those received before; how many."""
    return int((await tx.execute(_SWEEP, before, limit)).split()[-1])
