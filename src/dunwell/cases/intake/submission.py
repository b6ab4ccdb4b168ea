"""A claim as a merchant submits it (spec, Claim; CONTRACT 3): its shape and limits.

The debtor's fields are declared in `core.claims.fields`; this module declares the claim, its items
and attachments. Amounts are strings of digits in minor units. Pure.
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
    Meta(
        pattern=r"^[A-Z]{3}$(?!\n)",
        description="an ISO 4217 code of three upper-case letters, like EUR",
    ),
]


class _Part(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    # Explained in `core.claims.fields`.
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
        """The id of the upload ticket, or None if the source cannot be one."""
        try:
            return UUID(self.source)
        except ValueError:
            return None


class _Claimed(DebtorFields, frozen=True):
    """The fields that each claim has. They come before the debtor's fields."""

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
    """A JSON merge patch of contact data (RFC 7396). Null clears a value, also inside the two
    objects."""

    # Wider than the type of this field in ContactData, because a patch may contain nulls. No code
    # uses a patch as contact data.
    custom_fields: dict[Reference, Text | None] | None = None  # type: ignore[assignment]
