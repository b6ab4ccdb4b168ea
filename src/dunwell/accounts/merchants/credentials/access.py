"""What a credential is, and what a token opens: the credential behind it and, if it is reached, the
merchant. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right, Scope


@dataclass(frozen=True, slots=True)
class Access:
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
