"""The SQL of guards: on which days a person was contacted, one row for each of their identities.

Guard rows are locked last, after claims and contacts, and in the order of their digests, so that
nobody waits in a circle. Rows are never removed while contacts go out.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from uuid import UUID

from dunwell.contact.messages.guards.guards import Days, remove_contact_day
from dunwell.platform.database.database import Connection

# By primary key; joined, as = ANY would compare each row with each digest under a plan made while
# the table was small. The days are those that were committed when the lock was had.
_LOCK = """
SELECT g.identity_digest, g.contacted_on
FROM unnest($2::bytea[]) AS i (identity_digest)
JOIN contact_guards g ON g.merchant_id = $1 AND g.identity_digest = i.identity_digest
ORDER BY g.identity_digest
FOR NO KEY UPDATE OF g
"""
# By primary key; the rows are not locked.
_LOAD = """
SELECT identity_digest, contacted_on
FROM contact_guards
WHERE merchant_id = $1 AND identity_digest = ANY($2::bytea[])
"""
# By primary key; the contacts are locked.
_LOAD_RAISED = """
SELECT guarded_on, unnest(guarded_by) AS identity_digest
FROM communications
WHERE merchant_id = $1 AND communication_id = ANY($2::uuid[]) AND guarded_by IS NOT NULL
"""
# By primary keys.
_GIVE_BACK = """
WITH lowered AS (
    UPDATE contact_guards g
    SET contacted_on = l.contacted_on::date[]
    FROM unnest($3::bytea[], $4::text[]) AS l (identity_digest, contacted_on)
    WHERE g.merchant_id = $1 AND g.identity_digest = l.identity_digest
)
UPDATE communications
SET guarded_by = NULL, guarded_on = NULL
WHERE merchant_id = $1 AND communication_id = ANY($2::uuid[]) AND guarded_by IS NOT NULL
"""


async def load_contacted(
    tx: Connection, merchant_id: int, identities: Iterable[bytes]
) -> dict[bytes, Sequence[date]]:
    """The days of those that are known; nothing is locked."""
    rows = await tx.fetch(_LOAD, merchant_id, sorted(set(identities)))
    return {row["identity_digest"]: row["contacted_on"] for row in rows}


async def lock_guards(
    tx: Connection, merchant_id: int, identities: Iterable[bytes]
) -> dict[bytes, Sequence[date]]:
    """The days of those that are known."""
    rows = await tx.fetch(_LOCK, merchant_id, sorted(set(identities)))
    return {row["identity_digest"]: row["contacted_on"] for row in rows}


async def free_contact_days(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID]
) -> None:
    """Nobody was contacted by these after all; their day is free again. The contacts, and the
    claims they belong to, must be locked. Twice is as good as once."""
    if not communication_ids:
        return
    raised = await tx.fetch(_LOAD_RAISED, merchant_id, communication_ids)
    if not raised:
        return
    days: dict[bytes, Days] = dict(
        await lock_guards(tx, merchant_id, [row["identity_digest"] for row in raised])
    )
    for row in raised:
        identity = row["identity_digest"]
        days[identity] = remove_contact_day(days[identity], row["guarded_on"])
    await tx.execute(
        _GIVE_BACK,
        merchant_id,
        communication_ids,
        list(days),
        [write_days(d) for d in days.values()],
    )


def write_days(days: Days) -> str:
    """As PostgreSQL writes an array: unnest would take an array of arrays apart."""
    return "{" + ",".join(day.isoformat() for day in days) + "}"
