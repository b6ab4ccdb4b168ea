"""API credentials as values: owner, access, and the arithmetic of the rate limit. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right, Scope

# The limit of a credential for which the merchant file names none.
REQUESTS_PER_MINUTE = 600
# A process reserves requests in blocks: first a twentieth of the minute's limit, later an eighth of
# what is left.
_FIRST_SHARE = 20
_LATER_SHARE = 8


def compute_block_size(limit: int, reserved: int | None) -> int:
    """Return how many requests to reserve next. `reserved` is the number that all processes had
    reserved in this minute when this process last reserved some; None if this process has reserved
    none."""
    first = max(1, limit // _FIRST_SHARE)
    if reserved is None:
        return first
    return max(1, min(first, (limit - reserved) // _LATER_SHARE))


def compute_granted(limit: int, block: int, reserved_after: int) -> int:
    """Return how many requests of the block that was just reserved are within the limit."""
    return max(0, min(block, limit - (reserved_after - block)))


def truncate_to_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def compute_seconds_to_next_minute(now: datetime) -> int:
    """Return the whole seconds until the next minute, at least 1."""
    left = truncate_to_minute(now) + timedelta(minutes=1) - now
    return max(1, -(-left // timedelta(seconds=1)))


@dataclass(frozen=True, slots=True)
class CredentialAccess:
    # None if the merchant does not exist or the credential has no access to it. Callers do not
    # distinguish the two.
    merchant: Merchant | None
    # The merchant that the credential belongs to.
    owner_id: int
    credential_id: UUID
    client_id: str
    requests_per_minute: int
    # The permissions at the merchant. Empty without access to it.
    rights: frozenset[Right]


@dataclass(frozen=True, slots=True)
class CredentialKey:
    """The primary key of a credential."""

    owner_id: int
    credential_id: UUID


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential as lists show it."""

    credential_id: UUID
    name: str
    client_id: str
    requests_per_minute: int
    revoked_at: datetime | None
    # The scopes at its own merchant.
    scopes: tuple[Scope, ...]
