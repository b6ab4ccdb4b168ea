"""What a merchant submits as a claim (spec, Claim; CONTRACT 3): its shape and its limits.

Whom it is about is said in `core.claims.fields`; here stand the rest of the claim, its items and
its attachments. Money is a string of digits in minor units. Pure.
"""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from dunwell.core.claims.balance import MAX_ITEMS
from dunwell.core.claims.fields import ContactData, DebtorFields, Reference, Text

MAX_CLAIMS = 1000
MAX_ATTACHMENTS = 20

Money = Annotated[
    str,
    Meta(
        pattern=r"^[1-9][0-9]{0,11}$(?!\n)",
        description="an amount in minor units as a string of 1 to 12 digits without leading zero",
    ),
]
Currency = Annotated[
    str,
    Meta(pattern=r"^[A-Z]{3}$(?!\n)", description="an ISO 4217 code of three capitals, like EUR"),
]


class _Part(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    # See `core.claims.fields`.
    gc=False,
):
    pass


class ItemSubmission(_Part, frozen=True):
    reference: Reference
    type: Literal["PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"]
    value: Money
    item_date: date | None = None
    due_date: date | None = None


class AttachmentSubmission(_Part, frozen=True):
    source_type: Literal["TICKET"]
    source: Reference

    @property
    def ticket_id(self) -> UUID | None:
        """The upload ticket; none if the source cannot be one of ours."""
        try:
            return UUID(self.source)
        except ValueError:
            return None


class _Claimed(DebtorFields, frozen=True):
    """What every claim has: it comes first, whomever the claim is about."""

    reference_number: Reference
    currency: Currency
    items: Annotated[list[ItemSubmission], Meta(min_length=1, max_length=MAX_ITEMS)]


class ClaimSubmission(_Claimed, frozen=True, kw_only=True):
    attachments: Annotated[list[AttachmentSubmission], Meta(max_length=MAX_ATTACHMENTS)] = (
        msgspec.field(default_factory=list)
    )

    @property
    def first_primary_due_on(self) -> date | None:
        """The due date of the first PRIMARY item by position (CONTRACT 6, processingStart)."""
        for item in self.items:
            if item.type == "PRIMARY":
                return item.due_date
        return None


class ContactPatch(ContactData, frozen=True, kw_only=True):
    """A JSON merge patch of contact data (RFC 7396): a null clears, also within the two objects."""

    # Wider than what it changes, and never read as that.
    custom_fields: dict[Reference, Text | None] | None = None  # type: ignore[assignment]
