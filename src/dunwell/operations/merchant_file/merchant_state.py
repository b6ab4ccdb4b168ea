"""The stored merchant, as far as merchant files can change it. Pure."""

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
    # Running claims by major version.
    active_claims: Mapping[int, int]
    # What each step id meant in earlier versions.
    known_steps: Mapping[int, KnownStep] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurrentScenario:
    scenario: ScenarioVersion
    active_claims: int
    # The number of running claims by the id of their next step. None is the key of claims after the
    # last step.
    places: Mapping[int | None, int]


@dataclass(frozen=True, slots=True)
class MerchantState:
    """The stored state that a file is compared with. `merchant` is None if no merchant has the
    file's key yet."""

    merchant: Merchant | None = None
    # Keyed by name.
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    # Keyed by URL.
    endpoints: Mapping[str, CurrentEndpoint] = field(default_factory=dict)
    # Keyed by name.
    workflows: Mapping[str, CurrentWorkflow] = field(default_factory=dict)
    # Keyed by name. Empty for a merchant that works with workflows.
    scenarios: Mapping[str, CurrentScenario] = field(default_factory=dict)
    # The published rules with their version number (0 if there are none), and their draft.
    rules: RulesDocument | None = None
    rules_version: int = 0
    rules_draft: RulesDocument | None = None
    # The channel of each delivery provider of the installation file.
    provider_channels: Mapping[str, Channel] = field(default_factory=dict)
    # The connections to banks of the installation file.
    banks: frozenset[str] = frozenset()
    # The payment providers of the installation file that collect with mandates.
    mandate_providers: frozenset[str] = frozenset()
    # Where the installation file allows the merchant's webhooks to be sent.
    reach: WebhookReach = PUBLIC_REACH

    @property
    def configuration(self) -> Configuration | None:
        return self.merchant.configuration if self.merchant else None
