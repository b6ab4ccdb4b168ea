"""The SQL of guards: one row for each identity of a person, with the days on which it was
contacted.

Guard rows are locked last, after claims and contacts, and in the order of their digests, to avoid
deadlocks. They are kept until the merchant's data is removed.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from uuid import UUID

from dunwell.contact.messages.guards.guards import ContactDays, remove_contact_day
from dunwell.platform.database.database import Connection

# Uses the primary key. Joined, because `= ANY` with a plan made for a small table would compare
# each row with each digest. The days are those committed when the lock was granted.
_LOCK = """
SELECT g.identity_digest, g.contacted_on
FROM unnest($2::bytea[]) AS i (identity_digest)
JOIN contact_guards g ON g.merchant_id = $1 AND g.identity_digest = i.identity_digest
ORDER BY g.identity_digest
FOR NO KEY UPDATE OF g
"""
# Uses the primary key without locking.
_LOAD = """
SELECT identity_digest, contacted_on
FROM contact_guards
WHERE merchant_id = $1 AND identity_digest = ANY($2::bytea[])
"""
# Uses the primary key; the contacts are locked.
_LOAD_COUNTED = """
SELECT guarded_on, unnest(guarded_by) AS identity_digest
FROM communications
WHERE merchant_id = $1 AND communication_id = ANY($2::uuid[]) AND guarded_by IS NOT NULL
"""
# Uses primary keys.
_FREE_DAYS = """
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


async def load_contact_days(
    tx: Connection, merchant_id: int, identities: Iterable[bytes]
) -> dict[bytes, Sequence[date]]:
    """Load the contact days of the identities that have guard rows. Locks nothing."""
    rows = await tx.fetch(_LOAD, merchant_id, sorted(set(identities)))
    return {row["identity_digest"]: row["contacted_on"] for row in rows}


async def lock_guards(
    tx: Connection, merchant_id: int, identities: Iterable[bytes]
) -> dict[bytes, Sequence[date]]:
    """Lock the guard rows of the identities and return their contact days."""
    rows = await tx.fetch(_LOCK, merchant_id, sorted(set(identities)))
    return {row["identity_digest"]: row["contacted_on"] for row in rows}


async def free_contact_days(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID]
) -> None:
    """Free the days of contacts that did not reach the debtor. The contacts and their claims must
    be locked. Calling it twice has no further effect."""
    if not communication_ids:
        return
    counted = await tx.fetch(_LOAD_COUNTED, merchant_id, communication_ids)
    if not counted:
        return
    days: dict[bytes, ContactDays] = dict(
        await lock_guards(tx, merchant_id, [row["identity_digest"] for row in counted])
    )
    for row in counted:
        identity = row["identity_digest"]
        days[identity] = remove_contact_day(days[identity], row["guarded_on"])
    await tx.execute(
        _FREE_DAYS,
        merchant_id,
        communication_ids,
        list(days),
        [encode_days(d) for d in days.values()],
    )


def encode_days(days: ContactDays) -> str:
    """Return a PostgreSQL array literal; unnest would flatten an array of arrays."""
    return "{" + ",".join(day.isoformat() for day in days) + "}"
