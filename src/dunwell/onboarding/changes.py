"""What applying a merchant file would do, one value per change, each with its words. Pure.

They are performed in the order of this list: a default may point at a workflow made before it.
"""

from dataclasses import dataclass, field
from uuid import UUID

from dunwell.events.endpoints import WantedEndpoint
from dunwell.merchants.configuration import Configuration
from dunwell.merchants.store_changes import NewMerchant
from dunwell.workflows.definition import Definition


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
class SetDefault(_Change):
    # A workflow's name; none: claims stay unassigned.
    name: str | None


Change = (
    CreateMerchant
    | ChangeConfiguration
    | AddCredential
    | AddWebhook
    | ChangeWebhook
    | RemoveWebhook
    | SaveDraft
    | PublishDraft
    | DiscardDraft
    | SetDefault
)
