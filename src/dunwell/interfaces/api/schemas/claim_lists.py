"""A page of claims (CONTRACT 5)."""

from typing import Annotated

from msgspec import Meta

from dunwell.interfaces.api.schemas.claims import ClaimHold, ClaimStatus
from dunwell.platform.text.wire import Cents, Currency, Instant, Wire


class ListedClaim(Wire, frozen=True):
    """Enough of a claim to tell it and where it stands; read it for the rest."""

    id: int
    reference_number: str
    customer_number: str | None
    currency: Currency
    debtor_name: str | None
    debtor_last_name: str | None
    company_name: str | None
    status: ClaimStatus
    holds: Annotated[list[ClaimHold], Meta(description="Those that stand now.")]
    total: Cents
    outstanding: Cents
    overpaid: Cents
    next_step_at: Annotated[
        Instant | None,
        Meta(description="Null under a hold, while a contact is under way, and after the end."),
    ]
    created_at: Instant
    updated_at: Instant


class ClaimList(Wire, frozen=True):
    """A page of claims, newest first."""

    items: list[ListedClaim]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]
