"""The shape of a merchant file (CONTRACT 11), names on the wire in camelCase.

An absent key is UNSET: what it stands for is left as it is. Rules are in `checking`. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.accounts.merchants.configuration import Allocation, Basis, Feature, Letters
from dunwell.accounts.merchants.rights import Scope
from dunwell.cases.assignment.rules import RulesDocument
from dunwell.core.workflows.definition import Cents, Name, TimeOfDay

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
Advice = Annotated[
    str, Meta(max_length=500, pattern=r"\S", description="words, at most 500 characters")
]

# Keys of CONTRACT 11 that this release has nothing to do with yet, by the object they stand in.
NOT_AVAILABLE = {
    "": ("retentionDays",),
}

# Pointers (as patterns) of keys that were renamed, and the keys' present names.
RENAMED_KEYS = {r"/channels/[A-Z]+/line": "provider"}


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class LegalPart(_Part, frozen=True):
    name: Line
    address: Block
    register: Line | None = None
    supervisory_authority: Line | None = None
    vat_id: Line | None = None
    representatives: list[Line] = []
    country: Line | None = None


class ContactPart(_Part, frozen=True):
    email: Line
    phone: Line | None = None
    hours: Line | None = None


class RetentionPart(_Part, frozen=True):
    claim_years: Annotated[int, Meta(ge=1, le=30)]
    record_years: Annotated[int, Meta(ge=1, le=30)] | None = None


class PrivacyPart(_Part, frozen=True):
    authority: Block
    basis: Annotated[list[Basis], Meta(min_length=1)]
    retention: RetentionPart
    controller: Block | None = None
    officer: Block | None = None


# Longer than what a logo of 50 KB is as a "data:" address.
_MOST_LOGO = 70_000


class BrandPart(_Part, frozen=True):
    # The path of an image beside this file, or the image itself: "data:image/png;base64,...".
    logo: Annotated[str, Meta(min_length=1, max_length=_MOST_LOGO)] | None = None
    color: Color | None = None


# What a link asks for before it opens, the most wanted first; or NONE.
Verification = str | list[str]


class VerificationPart(_Part, frozen=True):
    """By the channel the link went by."""

    email: Verification = msgspec.field(name="EMAIL", default="NONE")
    sms: Verification = msgspec.field(name="SMS", default="NONE")
    letter: Verification = msgspec.field(name="LETTER", default="NONE")


class LandingPagePart(_Part, frozen=True):
    languages: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    verification: VerificationPart | UnsetType = UNSET
    features: list[Feature] | UnsetType = UNSET
    # Language -> what debtors read.
    advice: dict[str, Advice] | UnsetType = UNSET


class BankAccountPart(_Part, frozen=True):
    iban: Line
    holder: Line
    bic: Line | None = None


class PaymentMethodPart(_Part, frozen=True):
    provider: Line


class PartialPart(_Part, frozen=True):
    """One of the two at least."""

    # In minor units, as the amounts of definitions.
    min: Cents | None = None
    items: bool = False


class PaymentPart(_Part, frozen=True):
    methods: list[PaymentMethodPart] | UnsetType = UNSET
    bank_account: BankAccountPart | UnsetType = UNSET
    allocation: Allocation | UnsetType = UNSET
    partial: PartialPart | UnsetType | None = UNSET


class ChannelPart(_Part, frozen=True):
    """One of adapter and provider."""

    adapter: Line | None = None
    provider: Line | None = None
    sender: Line | None = msgspec.field(name="from", default=None)


class ChannelsPart(_Part, frozen=True):
    email: ChannelPart | UnsetType = msgspec.field(name="EMAIL", default=UNSET)
    sms: ChannelPart | UnsetType = msgspec.field(name="SMS", default=UNSET)
    letter: ChannelPart | UnsetType = msgspec.field(name="LETTER", default=UNSET)


class QuietHoursPart(_Part, frozen=True):
    since: TimeOfDay = msgspec.field(name="from")
    until: TimeOfDay = msgspec.field(name="to")


class LettersPart(_Part, frozen=True):
    # Postal days from the hand-over of a letter to the day on which it can have arrived.
    postal_days: Annotated[int, Meta(ge=1, le=10)] = Letters().postal_days


class GuardsPart(_Part, frozen=True):
    max_contacts_per_day: Annotated[int, Meta(ge=1, le=20)] = 1
    max_contacts_per_week: Annotated[int, Meta(ge=1, le=50)] = 3
    quiet_hours: QuietHoursPart | None = None


class PlansPart(_Part, frozen=True):
    """One of `counts` and `min_rate` at least."""

    counts: list[Annotated[int, Meta(ge=2, le=36)]] | None = None
    # In minor units, as the amounts of definitions.
    min_rate: Cents | None = None
    first_date_within_days: Annotated[int, Meta(ge=1, le=90)] = 30
    auto_approve: bool = False


class DefermentsPart(_Part, frozen=True):
    max_days: Annotated[int, Meta(ge=1, le=365)]
    auto_approve: bool = False


class ModalitiesPart(_Part, frozen=True):
    plan: PlansPart | None = None
    deferment: DefermentsPart | None = None
    pause_days: Annotated[int, Meta(ge=0, le=60)] = 14
    # Business days within which debtors are promised an answer; as long as disputes allow at most.
    answer_within_days: Annotated[int, Meta(ge=1, le=60)] = 3


class DisputeReasonPart(_Part, frozen=True):
    """One of the contract's reasons, or one of the merchant's own."""

    type: Annotated[
        str,
        Meta(
            pattern=r"^[A-Z][A-Z0-9_]{1,63}$(?!\n)",
            description="a name of capital letters, digits and _, such as WRONG_SIZE",
        ),
    ]
    # Language -> what debtors read.
    label: dict[str, Line] = msgspec.field(default_factory=dict)
    hidden: bool = False


class DisputesPart(_Part, frozen=True):
    reasons: Annotated[list[DisputeReasonPart], Meta(max_length=50)]
    # Business days in which debtors are told to have an answer.
    answer_within_days: Annotated[int, Meta(ge=1, le=60)] = 10
    # Days without fees and messages after an answer that leaves the claim open.
    quiet_days_after_answer: Annotated[int, Meta(ge=1, le=60)] = 7


class WebhookPart(_Part, frozen=True):
    url: str
    events: list[str]
    # Absent: the one that is there is kept; null takes it away.
    authorization: str | UnsetType | None = UNSET


class CredentialPart(_Part, frozen=True):
    name: Name
    # Counts when the credential is made.
    requests_per_minute: Annotated[int, Meta(ge=1, le=10_000_000)] | UnsetType = UNSET
    # What it may do: one, or several; all when it is made without.
    scope: Scope | Annotated[list[Scope], Meta(min_length=1)] | UnsetType = UNSET


class WorkflowPart(_Part, frozen=True):
    """Exactly one of the two: the definition, or the file it is in, beside this one."""

    name: Name
    definition: dict[str, Any] | UnsetType = UNSET
    file: Line | UnsetType = UNSET


class ScenarioPart(WorkflowPart, frozen=True):
    """The same for a merchant that is not switched to workflows."""

    description: Annotated[str, Meta(max_length=2_000)] | UnsetType = UNSET


class MerchantFile(_Part, frozen=True):
    key: Key
    name: Line
    language: str
    timezone: str
    currency: str | UnsetType = UNSET
    legal: LegalPart | UnsetType = UNSET
    contact: ContactPart | UnsetType = UNSET
    privacy: PrivacyPart | UnsetType = UNSET
    sandbox: bool | UnsetType = UNSET
    switched_to_workflows: bool | UnsetType = UNSET
    brand: BrandPart | UnsetType = UNSET
    landing_page: LandingPagePart | UnsetType = UNSET
    payment: PaymentPart | UnsetType = UNSET
    channels: ChannelsPart | UnsetType = UNSET
    letters: LettersPart | UnsetType = UNSET
    guards: GuardsPart | UnsetType = UNSET
    modalities: ModalitiesPart | UnsetType = UNSET
    disputes: DisputesPart | UnsetType = UNSET
    # Language -> its list, in place of the standard one; an absent language keeps that.
    forbidden_words: dict[str, list[Line]] | UnsetType = UNSET
    webhooks: list[WebhookPart] | UnsetType = UNSET
    credentials: list[CredentialPart] | UnsetType = UNSET
    # One of the two: what the merchant works with.
    workflows: list[WorkflowPart] | UnsetType = UNSET
    scenarios: list[ScenarioPart] | UnsetType = UNSET
    assignment_rules: RulesDocument | UnsetType = UNSET


def find_process_key(document: Mapping[str, Any]) -> str:
    """Under which key a file has its processes."""
    is_on_scenarios = "scenarios" in document and "workflows" not in document
    return "scenarios" if is_on_scenarios else "workflows"


def list_processes(file: MerchantFile) -> Sequence[WorkflowPart]:
    """A file's workflows or scenarios, whichever it has."""
    return file.workflows or file.scenarios or []
