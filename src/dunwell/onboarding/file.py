"""The shape of a merchant file (CONTRACT 11), names on the wire in camelCase. Pure.

An absent key is UNSET: what it stands for is left as it is. Rules are in `checking`.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.merchants.configuration import Allocation
from dunwell.workflows.definition import Name

Key = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,62}$(?!\n)",
        description="a short name of small letters, digits and -",
    ),
]
Color = Annotated[
    str,
    Meta(
        pattern=r"^#[0-9A-Fa-f]{6}$(?!\n)",
        description='a colour as "#rrggbb", in quotes',
    ),
]
Line = Annotated[str, Meta(min_length=1, max_length=255)]
Block = Annotated[str, Meta(min_length=1, max_length=2_000)]

# Keys of CONTRACT 11 that this release has nothing to do with yet, by the object they stand in.
NOT_AVAILABLE = {
    "": ("modalities", "disputes", "scenarios", "guards", "retentionDays"),
    "/landingPage": ("verification", "features"),
    "/payment": ("partial",),
}


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class LegalPart(_Part, frozen=True):
    name: Line
    address: Block
    register: Line | None = None
    supervisory_authority: Line | None = None
    vat_id: Line | None = None


class ContactPart(_Part, frozen=True):
    email: Line
    phone: Line | None = None
    hours: Line | None = None


class BrandPart(_Part, frozen=True):
    # The path of an image, beside this file.
    logo: Line | None = None
    color: Color | None = None


class LandingPagePart(_Part, frozen=True):
    languages: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET


class BankAccountPart(_Part, frozen=True):
    iban: Line
    holder: Line
    bic: Line | None = None


class PaymentMethodPart(_Part, frozen=True):
    provider: Line


class PaymentPart(_Part, frozen=True):
    methods: list[PaymentMethodPart] | UnsetType = UNSET
    bank_account: BankAccountPart | UnsetType = UNSET
    allocation: Allocation | UnsetType = UNSET


class ChannelPart(_Part, frozen=True):
    adapter: Line
    sender: Line | None = msgspec.field(name="from", default=None)


class ChannelsPart(_Part, frozen=True):
    email: ChannelPart | UnsetType = msgspec.field(name="EMAIL", default=UNSET)
    sms: ChannelPart | UnsetType = msgspec.field(name="SMS", default=UNSET)
    letter: ChannelPart | UnsetType = msgspec.field(name="LETTER", default=UNSET)


class WebhookPart(_Part, frozen=True):
    url: str
    events: list[str]
    authorization: str | None = None


class CredentialPart(_Part, frozen=True):
    name: Name
    # Counts when the credential is made.
    requests_per_minute: Annotated[int, Meta(ge=1, le=10_000_000)] | UnsetType = UNSET


class WorkflowPart(_Part, frozen=True):
    """Exactly one of the two: the definition, or the file it is in, beside this one."""

    name: Name
    definition: dict[str, Any] | UnsetType = UNSET
    file: Line | UnsetType = UNSET


class RulesPart(_Part, frozen=True):
    # A workflow's name; null: claims stay unassigned.
    default: Name | None
    rules: list[dict[str, Any]] = []


class MerchantFile(_Part, frozen=True):
    key: Key
    name: Line
    language: str
    timezone: str
    currency: str | UnsetType = UNSET
    legal: LegalPart | UnsetType = UNSET
    contact: ContactPart | UnsetType = UNSET
    sandbox: bool | UnsetType = UNSET
    switched_to_workflows: bool | UnsetType = UNSET
    brand: BrandPart | UnsetType = UNSET
    landing_page: LandingPagePart | UnsetType = UNSET
    payment: PaymentPart | UnsetType = UNSET
    channels: ChannelsPart | UnsetType = UNSET
    webhooks: list[WebhookPart] | UnsetType = UNSET
    credentials: list[CredentialPart] | UnsetType = UNSET
    workflows: list[WorkflowPart] | UnsetType = UNSET
    assignment_rules: RulesPart | UnsetType = UNSET
