"""What applying a merchant file would do, one value per change, each with its words.

They are performed in the order of this list: rules may point at workflows made before them. Pure.
"""

from dataclasses import dataclass, field
from uuid import UUID

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.merchant import NewMerchant
from dunwell.accounts.merchants.rights import Scope
from dunwell.cases.assignment.rules import RulesDocument
from dunwell.core.events.webhooks.endpoint import WantedEndpoint
from dunwell.core.workflows.definition import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    # Lines for whoever applies the file.
    words: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CreateMerchant(_Change):
    new: NewMerchant


@dataclass(frozen=True, slots=True)
class ChangeConfiguration(_Change):
    name: str
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class AddCredential(_Change):
    name: str
    requests_per_minute: int
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class ScopeCredential(_Change):
    """What it may do at its own merchant, from now on."""

    client_id: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class AddWebhook(_Change):
    wanted: WantedEndpoint


@dataclass(frozen=True, slots=True)
class ChangeWebhook(_Change):
    endpoint_id: UUID
    wanted: WantedEndpoint


@dataclass(frozen=True, slots=True)
class RemoveWebhook(_Change):
    endpoint_id: UUID


@dataclass(frozen=True, slots=True)
class SaveDraft(_Change):
    name: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class PublishDraft(_Change):
    """Publish the draft there is, or the one a change before this has saved."""

    name: str


@dataclass(frozen=True, slots=True)
class DiscardDraft(_Change):
    workflow_id: UUID


@dataclass(frozen=True, slots=True)
class SaveScenario(_Change):
    """Create it, or edit it in place; no description: the one it has."""

    name: str
    definition: Definition
    description: str | None


@dataclass(frozen=True, slots=True)
class SaveRules(_Change):
    document: RulesDocument


@dataclass(frozen=True, slots=True)
class PublishRules(_Change):
    """Publish the draft of the rules there is, or the one a change before this has saved."""


@dataclass(frozen=True, slots=True)
class DiscardRules(_Change):
    """Discard the draft of the rules."""


Change = (
    CreateMerchant
    | ChangeConfiguration
    | AddCredential
    | ScopeCredential
    | AddWebhook
    | ChangeWebhook
    | RemoveWebhook
    | SaveDraft
    | PublishDraft
    | DiscardDraft
    | SaveScenario
    | SaveRules
    | PublishRules
    | DiscardRules
)
