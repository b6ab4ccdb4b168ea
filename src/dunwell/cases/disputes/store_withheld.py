"""The SQL of disputes that withhold a claim's page: the address that such a dispute suppresses, and
the person whom it protects from all contact."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.database.database import Connection

# By primary key.
_SAVE_ADDRESS = """
UPDATE disputes SET suppressed_channel = $3, suppressed_digests = $4, key_version = $5
WHERE merchant_id = $1 AND dispute_id = $2
"""
# The same.
_SAVE_PERSON = """
UPDATE disputes SET stopped_identities = $3, key_version = $4
WHERE merchant_id = $1 AND dispute_id = $2
"""
# The same.
_RELEASE = """
UPDATE disputes SET released_at = $3
WHERE merchant_id = $1 AND dispute_id = $2
RETURNING suppressed_channel, suppressed_digests
"""
# By primary key.
_LOCK_SUPPRESSION = """
SELECT FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($3::bytea[])
FOR UPDATE
"""
# By primary key, and by disputes_suppressed.
_LIFT = """
DELETE FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($3::bytea[])
    AND reason = 'WRONG_PERSON'
    AND NOT EXISTS (
        SELECT FROM disputes other
        WHERE other.merchant_id = $1 AND other.released_at IS NULL
            AND other.suppressed_channel = $2 AND other.suppressed_digests && $3::bytea[])
RETURNING masked_address
"""


@dataclass(frozen=True, slots=True)
class SuppressedAddress:
    """The digests are those of one address under each version of the secret key."""

    channel: Channel
    digests: Sequence[bytes]


async def save_suppressed_address(
    tx: Connection, merchant_id: int, dispute_id: UUID, address: SuppressedAddress, key_version: int
) -> None:
    await tx.execute(
        _SAVE_ADDRESS, merchant_id, dispute_id, address.channel, list(address.digests), key_version
    )


async def save_stopped_person(
    tx: Connection, merchant_id: int, dispute_id: UUID, identities: Sequence[bytes],
    key_version: int,
) -> None:  # fmt: skip
    await tx.execute(_SAVE_PERSON, merchant_id, dispute_id, list(identities), key_version)


async def save_release(
    tx: Connection, merchant_id: int, dispute_id: UUID, now: datetime
) -> SuppressedAddress | None:
    """The address that the dispute has suppressed."""
    channel, digests = await tx.fetchrow(_RELEASE, merchant_id, dispute_id, now)
    return SuppressedAddress(channel, digests) if channel else None


async def lock_suppression(tx: Connection, merchant_id: int, address: SuppressedAddress) -> bool:
    """Wait for everybody who adds or lifts it. False: the address is not suppressed."""
    row = await tx.fetchrow(_LOCK_SUPPRESSION, merchant_id, address.channel, list(address.digests))
    return row is not None


async def lift_wrong_person(
    tx: Connection, merchant_id: int, address: SuppressedAddress
) -> str | None:
    """Lift the locked suppression, unless it has another reason or another dispute needs it. The
    masked address; None: nothing was lifted."""
    lifted: str | None = await tx.fetchval(
        _LIFT, merchant_id, address.channel, list(address.digests)
    )
    return lifted
