"""A merchant as it is, as far as merchant files describe it, loaded in a few statements. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from dunwell.accounts.installation.installation_file import PUBLIC_REACH, WebhookReach
from dunwell.accounts.merchants.configuration import Channel, Configuration
from dunwell.accounts.merchants.credentials.credential import Credential
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.assignment.rules import RulesDocument
from dunwell.core.workflows.versions.versions import (
    KnownStep,
    ScenarioVersion,
    Version,
    WorkflowDraft,
)


@dataclass(frozen=True, slots=True)
class CurrentEndpoint:
    endpoint_id: UUID
    types: tuple[str, ...]
    authorization: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class CurrentWorkflow:
    workflow_id: UUID
    current: Version | None
    draft: WorkflowDraft | None
    # Major version -> claims in process on it.
    active_claims: Mapping[int, int]
    # What step ids stood for in its versions.
    known_steps: Mapping[int, KnownStep] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurrentScenario:
    scenario: ScenarioVersion
    active_claims: int
    # How many claims stand at which step, of those that have begun; no step: behind the last.
    places: Mapping[int | None, int]


@dataclass(frozen=True, slots=True)
class MerchantState:
    """No merchant: the file's key is new."""

    merchant: Merchant | None = None
    # By name.
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    # By address.
    endpoints: Mapping[str, CurrentEndpoint] = field(default_factory=dict)
    # By name.
    workflows: Mapping[str, CurrentWorkflow] = field(default_factory=dict)
    # The same as long as the merchant works with scenarios, by name.
    scenarios: Mapping[str, CurrentScenario] = field(default_factory=dict)
    # The published rules and their number, 0 when there are none, and the draft.
    rules: RulesDocument | None = None
    rules_version: int = 0
    rules_draft: RulesDocument | None = None
    # Of the installation file, by name, and the channel each carries.
    lines: Mapping[str, Channel] = field(default_factory=dict)
    # Where the merchant's webhooks may be sent, by the installation file.
    reach: WebhookReach = PUBLIC_REACH

    @property
    def configuration(self) -> Configuration | None:
        return self.merchant.configuration if self.merchant else None
