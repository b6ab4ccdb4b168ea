"""The changes that applying a merchant file makes, and the report of what was done. Pure."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.merchant import NewMerchant
from dunwell.accounts.merchants.rights import Scope
from dunwell.cases.assignment.rules import RulesDocument
from dunwell.cases.rollout.preview.effects_views import NextContactsView
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.workflows.definition import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """The base class of all changes."""

    # Lines that describe the change to the person who applies the file.
    lines: list[str] = field(default_factory=list)


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
class SetCredentialScopes(_Change):
    """Replaces what the credential may do at its own merchant."""

    client_id: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class AddWebhook(_Change):
    wanted: NewEndpoint


@dataclass(frozen=True, slots=True)
class ChangeWebhook(_Change):
    endpoint_id: UUID
    wanted: NewEndpoint


@dataclass(frozen=True, slots=True)
class RemoveWebhook(_Change):
    endpoint_id: UUID


@dataclass(frozen=True, slots=True)
class SaveDraft(_Change):
    name: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class PublishDraft(_Change):
    """Publish the workflow's draft, which an earlier change of the list may have saved."""

    name: str


@dataclass(frozen=True, slots=True)
class DiscardDraft(_Change):
    workflow_id: UUID


@dataclass(frozen=True, slots=True)
class SaveScenario(_Change):
    """Create the scenario, or edit it in place. A description of None leaves it unchanged."""

    name: str
    definition: Definition
    description: str | None


@dataclass(frozen=True, slots=True)
class SaveRules(_Change):
    document: RulesDocument


@dataclass(frozen=True, slots=True)
class PublishRules(_Change):
    """Publish the draft of the assignment rules, which an earlier change may have saved."""


@dataclass(frozen=True, slots=True)
class DiscardRules(_Change):
    """Discard the draft of the assignment rules."""


Change = (
    CreateMerchant
    | ChangeConfiguration
    | AddCredential
    | SetCredentialScopes
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


class NewCredentialReport(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    client_id: str
    client_secret: str


class NewWebhookReport(msgspec.Struct, frozen=True, rename="camel"):
    url: str
    secret: str


class WorkflowPreview(msgspec.Struct, frozen=True, rename="camel"):
    """The effect on running claims of publishing the file's definition of a workflow."""

    workflow: str
    before: str
    after: str
    verdict: str
    differences: list[str]
    claims_reached: int
    claims_staying: int
    next_contacts: NextContactsView


class ApplyReport(msgspec.Struct, frozen=True, rename="camel"):
    """The report of a planned or applied file. New secrets are shown here only. `merchant_id` is
    None in a plan for a new merchant."""

    merchant_id: int | None
    key: str
    changes: list[str]
    credentials: list[NewCredentialReport] = []
    webhooks: list[NewWebhookReport] = []
    # The settings that the law requires and the merchant lacks, each with the reason. Absent if
    # nothing is missing.
    gaps: list[str] | UnsetType = UNSET
    # Recommended changes of the file's workflows. Absent if there are none.
    warnings: list[str] | UnsetType = UNSET
    # Only in a plan: previews of changed workflows that have a version.
    previews: list[WorkflowPreview] | UnsetType = UNSET

    def as_json(self) -> dict[str, Any]:
        """Return the output of `--json`."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        return report

    def as_text(self) -> str:
        """Return the lines that are printed without `--json`."""
        number = "new" if self.merchant_id is None else str(self.merchant_id)
        lines = [f'Merchant "{self.key}" ({number})']
        lines += [f"  {change}" for change in self.changes] or ["  nothing to change"]
        lines += [f"  lacks {gap}" for gap in self.gaps or []]
        lines += [f"  warning: {warning}" for warning in self.warnings or []]
        for credential in self.credentials:
            lines += [
                f'Credential "{credential.name}", shown this once:',
                f"  client_id      {credential.client_id}",
                f"  client_secret  {credential.client_secret}",
            ]
        for webhook in self.webhooks:
            lines += [f"Webhook {webhook.url}, shown this once:", f"  secret  {webhook.secret}"]
        return "\n".join(lines)
