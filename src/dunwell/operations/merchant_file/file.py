"""The structure of a merchant file (CONTRACT 11), with its keys in camelCase.

An absent key is UNSET and leaves the stored value unchanged. Further rules are in `rules`. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.accounts.merchants.configuration import (
    Channel,
    ChannelSetup,
    Color,
    DisputeSettings,
    Guards,
    LandingPage,
    LegalDetails,
    LetterSettings,
    MerchantContact,
    ModalitySettings,
    PaymentSettings,
    PrivacyNotice,
    ShortText,
)
from dunwell.accounts.merchants.rights import Scope
from dunwell.cases.assignment.rules import RulesDocument
from dunwell.core.workflows.definition import Name

Key = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,62}$(?!\n)",
        description="a short name of lower-case letters, digits and -",
    ),
]
# Keys of CONTRACT 11 that this release does not support, by the object that they belong to.
NOT_AVAILABLE = {
    "": ("retentionDays",),
}

# Pointers (as patterns) of keys that were renamed, and the keys' present names.
RENAMED_KEYS = {r"/channels/[A-Z]+/line": "provider"}


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The base class of all objects in a merchant file."""


# Longer than the "data:" address of a logo of 50 KB.
_MAX_LOGO_LENGTH = 70_000


class BrandPart(_Part, frozen=True):
    """The brand as the file states it. The stored `Brand` has the checked image as its logo."""

    # The path of an image, relative to this file, or the image itself as a "data:" address.
    logo: Annotated[str, Meta(min_length=1, max_length=_MAX_LOGO_LENGTH)] | None = None
    color: Color | None = None


class WebhookPart(_Part, frozen=True):
    url: str
    events: list[str]
    # Absent: the stored value is kept. Null: it is removed.
    authorization: str | UnsetType | None = UNSET


class CredentialPart(_Part, frozen=True):
    name: Name
    # Only applied when the credential is created.
    requests_per_minute: Annotated[int, Meta(ge=1, le=10_000_000)] | UnsetType = UNSET
    # One scope or several. A credential that is created without a scope gets ALL.
    scope: Scope | Annotated[list[Scope], Meta(min_length=1)] | UnsetType = UNSET


class WorkflowPart(_Part, frozen=True):
    """A workflow. It has either `definition` or `file`: the path of a file with the definition,
    relative to this file."""

    name: Name
    definition: dict[str, Any] | UnsetType = UNSET
    file: ShortText | UnsetType = UNSET


class ScenarioPart(WorkflowPart, frozen=True):
    """A scenario, for a merchant that works with scenarios."""

    description: Annotated[str, Meta(max_length=2_000)] | UnsetType = UNSET


class MerchantFile(_Part, frozen=True):
    key: Key
    name: ShortText
    language: str
    timezone: str
    currency: str | UnsetType = UNSET
    legal: LegalDetails | UnsetType = UNSET
    contact: MerchantContact | UnsetType = UNSET
    privacy: PrivacyNotice | UnsetType = UNSET
    sandbox: bool | UnsetType = UNSET
    switched_to_workflows: bool | UnsetType = UNSET
    brand: BrandPart | UnsetType = UNSET
    landing_page: LandingPage | UnsetType = UNSET
    payment: PaymentSettings | UnsetType = UNSET
    channels: dict[Channel, ChannelSetup] = {}
    letters: LetterSettings | UnsetType = UNSET
    guards: Guards | UnsetType = UNSET
    modalities: ModalitySettings | UnsetType = UNSET
    disputes: DisputeSettings | UnsetType = UNSET
    # Replaces the standard list of a language. A language that is absent keeps its standard list.
    forbidden_words: dict[str, tuple[ShortText, ...]] | UnsetType = UNSET
    webhooks: list[WebhookPart] | UnsetType = UNSET
    credentials: list[CredentialPart] | UnsetType = UNSET
    # At most one of the two, depending on what the merchant works with.
    workflows: list[WorkflowPart] | UnsetType = UNSET
    scenarios: list[ScenarioPart] | UnsetType = UNSET
    assignment_rules: RulesDocument | UnsetType = UNSET


def find_workflows_key(document: Mapping[str, Any]) -> str:
    """Return the key under which a file has its workflows or scenarios."""
    has_scenarios = "scenarios" in document and "workflows" not in document
    return "scenarios" if has_scenarios else "workflows"


def list_workflow_parts(file: MerchantFile) -> Sequence[WorkflowPart]:
    """Return the file's workflows or scenarios, whichever it has."""
    return file.workflows or file.scenarios or []
