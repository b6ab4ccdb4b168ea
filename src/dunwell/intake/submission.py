"""What a merchant submits as a claim (spec, Claim; CONTRACT 3): its shape and its limits.

Attributes are the contract's names in snake case. A text is at most 255 characters, without control
characters; money is a string of digits in minor units. Pure.
"""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from dunwell.claims.item_rules import MAX_ITEMS

MAX_CLAIMS = 1000
MAX_ATTACHMENTS = 20
MAX_CUSTOM_FIELDS = 50

# "(?!\n)" because "$" alone would let one line break pass at the end.
_NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$(?!\n)"
# What browsers take as an e-mail address (WHATWG HTML, valid e-mail address).
_EMAIL = (
    r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$(?!\n)"
)

# A pattern's description is what a fault says was expected (`kit.shape`).
_PLAIN_TEXT = "a text without control characters"
Text = Annotated[str, Meta(max_length=255, pattern=_NO_CONTROLS, description=_PLAIN_TEXT)]
Reference = Annotated[
    str, Meta(min_length=1, max_length=255, pattern=_NO_CONTROLS, description=_PLAIN_TEXT)
]
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
Country = Annotated[
    str,
    Meta(pattern=r"^[A-Z]{2}$(?!\n)", description="an ISO 3166-1 code of two capitals, like DE"),
]
Email = Annotated[
    str,
    Meta(
        max_length=254,
        pattern=_EMAIL,
        description="one e-mail address without a name, like erika@example.org",
    ),
]
MobileNumber = Annotated[
    str,
    Meta(
        pattern=r"^\+[1-9][0-9]{5,14}$(?!\n)",
        description="a number in international format with a leading plus, like +4915112345678",
    ),
]
Language = Annotated[
    str,
    Meta(
        pattern=r"^[a-z]{2,3}$(?!\n)",
        description="an ISO 639 code of two or three small letters, like de",
    ),
]


class _Part(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    kw_only=True,
    # What is read from JSON holds no cycles; a thousand claims keep the collector busy otherwise.
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


class AddressSubmission(_Part, frozen=True):
    street: Text | None = None
    address_line2: Text | None = None
    postal_code: Text | None = None
    city: Text | None = None
    country: Country | None = None


class ClaimSubmission(_Part, frozen=True):
    reference_number: Reference
    currency: Currency
    items: Annotated[list[ItemSubmission], Meta(min_length=1, max_length=MAX_ITEMS)]
    debtor_name: Text | None = None
    debtor_last_name: Text | None = None
    company_name: Text | None = None
    email: Email | None = None
    mobile_number: MobileNumber | None = None
    customer_number: Text | None = None
    contract_number: Text | None = None
    language: Language | None = None
    date_of_birth: date | None = None
    address: AddressSubmission | None = None
    custom_fields: Annotated[dict[Reference, Text], Meta(max_length=MAX_CUSTOM_FIELDS)] | None = (
        None
    )
    max_deferral_date: date | None = None
    attachments: Annotated[list[AttachmentSubmission], Meta(max_length=MAX_ATTACHMENTS)] = []

    @property
    def has_contact(self) -> bool:
        return self.email is not None or self.mobile_number is not None or self.has_address

    @property
    def has_address(self) -> bool:
        return self.address is not None and bool(self.address.street and self.address.city)

    @property
    def first_primary_due_on(self) -> date | None:
        """The due date of the first PRIMARY item by position (CONTRACT 6, processingStart)."""
        for item in self.items:
            if item.type == "PRIMARY":
                return item.due_date
        return None


class ContactData(_Part, frozen=True):
    """What of a claim can be changed after it was created; its fields are the claim's."""

    debtor_name: Text | None = None
    debtor_last_name: Text | None = None
    company_name: Text | None = None
    email: Email | None = None
    mobile_number: MobileNumber | None = None
    customer_number: Text | None = None
    contract_number: Text | None = None
    language: Language | None = None
    date_of_birth: date | None = None
    address: AddressSubmission | None = None
    custom_fields: Annotated[dict[Reference, Text], Meta(max_length=MAX_CUSTOM_FIELDS)] | None = (
        None
    )


class ContactPatch(ContactData, frozen=True):
    """A JSON merge patch of it (RFC 7396): a null clears, also within the two objects."""

    # Wider than what it changes, and never read as that.
    custom_fields: dict[Reference, Text | None] | None = None  # type: ignore[assignment]
