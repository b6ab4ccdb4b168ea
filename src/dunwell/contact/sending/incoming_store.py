"""The SQL of messages that people write to lines: whom they may be about, and keeping them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.incoming import Incoming
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# Claims whose debtor was written to at this number ($2) by this line ($1), as far as a merchant's:
# by a contact, or by a notice whose address was taken out since.
_WRITTEN_TO = """d.mobile_number = $2 AND (
    EXISTS (SELECT FROM communications c
            WHERE c.merchant_id = d.merchant_id AND c.claim_id = d.claim_id
              AND c.channel = 'SMS' AND c.line = $1 AND c.handed_over_at IS NOT NULL)
    OR EXISTS (SELECT FROM debtor_notices n
               WHERE n.merchant_id = d.merchant_id AND n.claim_id = d.claim_id
                 AND n.channel = 'SMS' AND n.line = $1 AND n.recipient IS NULL))"""
# What the debtor has typed is no number on file.
_TYPED = "n.recipient = $2 AND n.channel = 'SMS' AND n.line = $1"
# Rides on debtors_mobile_number for each merchant, on the keys of a claim's contacts and notices,
# and on debtor_notices_by_sms.
_FIND_CLAIMS = compose(
    """
(SELECT d.merchant_id, d.claim_id
 FROM merchants m
 JOIN debtors d ON d.merchant_id = m.merchant_id AND {written_to}
 LIMIT $3)
UNION
SELECT n.merchant_id, n.claim_id FROM debtor_notices n WHERE {typed}
LIMIT $3
""",
    written_to=_WRITTEN_TO,
    typed=_TYPED,
)
# As the one before; of a merchant one claim is enough.
_FIND_MERCHANTS = compose(
    """
SELECT m.merchant_id
FROM merchants m
WHERE m.merchant_id > $3
  AND (EXISTS (SELECT FROM debtors d WHERE d.merchant_id = m.merchant_id AND {written_to})
       OR m.merchant_id IN (SELECT n.merchant_id FROM debtor_notices n WHERE {typed}))
ORDER BY m.merchant_id
LIMIT $4
""",
    written_to=_WRITTEN_TO,
    typed=_TYPED,
)
_IS_KNOWN = "SELECT EXISTS (SELECT FROM inbound_sms WHERE line = $1 AND provider_id = $2)"
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
# Enough to know whether it is one.
_MOST_CLAIMS = 2


class WrittenTo(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    claim_id: int


async def find_written_to(tx: Connection, line: str, number: str) -> WrittenTo | None:
    """The one claim whose debtor was written to at this number by this line, of all merchants;
    none: there is no such claim, or another one too."""
    rows = await tx.fetch(_FIND_CLAIMS, line, number, _MOST_CLAIMS)
    return WrittenTo(*rows[0]) if len(rows) == 1 else None


async def find_who_wrote(
    tx: Connection, line: str, number: str, *, behind: int, limit: int
) -> Sequence[int]:
    """Merchants that wrote to this number by this line, in their order, behind one of them."""
    rows = await tx.fetch(_FIND_MERCHANTS, line, number, behind, limit)
    return [row["merchant_id"] for row in rows]


async def is_known(tx: Connection, incoming: Incoming) -> bool:
    return bool(await tx.fetchval(_IS_KNOWN, incoming.line, incoming.provider_id))


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
