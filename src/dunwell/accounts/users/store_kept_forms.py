"""Keep what a user typed into a form whose session had ended, until the same user is back.

Kept are a few forms of each user, for a day, and never a password, a code or a secret: the caller
leaves those out. All instants are real time.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection

# Whoever leaves a form open in the evening finds it the next morning.
KEPT_FOR = timedelta(hours=24)
# After the values were put back once, the page may be loaded again, but does not stay filled.
RESTORABLE_FOR = timedelta(minutes=10)
# Tabs that one person has forms open in; the oldest is dropped.
MAX_FORMS = 5
# The largest form without files that the portal reads.
MAX_BYTES = 256 * 1024
_MAX_ADDRESS = 2_000

KeptFields = Mapping[str, Sequence[str]]

# By primary key.
_SAVE = """
INSERT INTO kept_forms (user_id, address, fields, kept_at, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (user_id, address)
DO UPDATE SET fields = excluded.fields, kept_at = excluded.kept_at, expires_at = excluded.expires_at
"""
_DROP_OLDEST = """
DELETE FROM kept_forms
WHERE user_id = $1 AND address IN (
    SELECT address FROM kept_forms WHERE user_id = $1
    ORDER BY kept_at DESC, address OFFSET $2)
"""
_TAKE = """
UPDATE kept_forms SET expires_at = least(expires_at, $4)
WHERE user_id = $1 AND address = $2 AND expires_at > $3
RETURNING fields
"""
_REMOVE = "DELETE FROM kept_forms WHERE user_id = $1 AND address = $2"
# Rides on kept_forms_expiry.
_REMOVE_EXPIRED = """
DELETE FROM kept_forms
WHERE (user_id, address) IN (
    SELECT user_id, address FROM kept_forms WHERE expires_at < $1 LIMIT $2)
"""


async def save_kept_form(
    tx: Connection, user_id: UUID, address: str, *, fields: KeptFields, now: datetime
) -> bool:
    """Return False if the form is too large to be kept."""
    if len(msgspec.json.encode(fields)) > MAX_BYTES or len(address) > _MAX_ADDRESS:
        return False
    await tx.execute(_SAVE, user_id, address, fields, now, now + KEPT_FOR)
    await tx.execute(_DROP_OLDEST, user_id, MAX_FORMS)
    return True


async def load_kept_form(
    tx: Connection, user_id: UUID, address: str, now: datetime
) -> KeptFields | None:
    """What this user typed at this address; None: nothing is kept."""
    fields: KeptFields | None = await tx.fetchval(
        _TAKE, user_id, address, now, now + RESTORABLE_FOR
    )
    return fields


async def remove_kept_form(tx: Connection, user_id: UUID, address: str) -> None:
    """The form was sent."""
    await tx.execute(_REMOVE, user_id, address)


async def remove_expired_forms(tx: Connection, now: datetime, limit: int) -> int:
    """Return how many were removed."""
    return int((await tx.execute(_REMOVE_EXPIRED, now, limit)).rpartition(" ")[2])
