"""API credentials as values: their owner, what they may reach, and their rate limit. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right, Scope

# Of a credential whose merchant file says nothing of it.
REQUESTS_PER_MINUTE = 600
# The first block is a twentieth of the minute's quota, later ones an eighth of what is left.
_FIRST_SHARE = 20
_LATER_SHARE = 8


def compute_block(limit: int, drawn: int | None) -> int:
    """Requests to draw next; `drawn`: what all had drawn when this process last looked, if ever."""
    first = max(1, limit // _FIRST_SHARE)
    if drawn is None:
        return first
    return max(1, min(first, (limit - drawn) // _LATER_SHARE))


def compute_granted(limit: int, block: int, drawn_after: int) -> int:
    """How many of the block just drawn lie within the limit."""
    return max(0, min(block, limit - (drawn_after - block)))


def truncate_to_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def compute_seconds_to_next_minute(now: datetime) -> int:
    """Whole seconds, at least 1, after which the next minute has begun."""
    left = truncate_to_minute(now) + timedelta(minutes=1) - now
    return max(1, -(-left // timedelta(seconds=1)))


@dataclass(frozen=True, slots=True)
class CredentialAccess:
    # None: no such merchant, or this credential does not reach it. The two are never told apart.
    merchant: Merchant | None
    # Whose credential it is.
    owner_id: int
    credential_id: UUID
    client_id: str
    requests_per_minute: int
    # At the merchant, as its scopes say; none when it is not reached.
    rights: frozenset[Right]


@dataclass(frozen=True, slots=True)
class CredentialKey:
    """Where a credential stands in the tables."""

    owner_id: int
    credential_id: UUID


@dataclass(frozen=True, slots=True)
class Credential:
    """What a merchant's program identifies itself with, as lists show it."""

    credential_id: UUID
    name: str
    client_id: str
    requests_per_minute: int
    revoked_at: datetime | None
    # At its own merchant.
    scopes: tuple[Scope, ...]
