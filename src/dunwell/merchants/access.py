"""What a token opens: the credential behind it and, if it is reached, the merchant. Pure."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.merchants.merchant import Merchant


@dataclass(frozen=True, slots=True)
class Access:
    # None: no such merchant, or this credential does not reach it. The two are never told apart.
    merchant: Merchant | None
    # Whose credential it is.
    owner_id: int
    credential_id: UUID
    client_id: str
    requests_per_minute: int


@dataclass(frozen=True, slots=True)
class CredentialKey:
    """Where a credential stands in the tables."""

    owner_id: int
    credential_id: UUID
