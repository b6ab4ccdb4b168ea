"""Load everything about a merchant that its file can change, in a few statements."""

from collections.abc import Mapping
from uuid import UUID

from dunwell.accounts.installation.installation_file import find_reach
from dunwell.accounts.installation.payment_providers import list_mandate_accounts
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_credentials, load_merchant, lock_merchant
from dunwell.cases.assignment.rules import build_document
from dunwell.cases.assignment.store import find_published_rules, find_rules_draft, load_targets
from dunwell.cases.rollout.scenarios.store import count_claims_by_step
from dunwell.cases.rollout.store import count_active_claims
from dunwell.core.events.webhooks.endpoint import WebhookEndpoint
from dunwell.core.events.webhooks.endpoint_secrets import open_authorization
from dunwell.core.events.webhooks.store import load_endpoints
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.core.workflows.store import Workflow, load_current, load_draft, load_workflows
from dunwell.core.workflows.versions.store import load_known_steps
from dunwell.operations.merchant_file.merchant_state import (
    CurrentEndpoint,
    CurrentScenario,
    CurrentWorkflow,
    MerchantState,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


async def load_merchant_state(
    tx: Connection, keys: KeyRing, key: str, *, lock: bool, counts_claims: bool = True
) -> MerchantState:
    """Load the merchant with this key. `lock` locks its settings until the transaction ends. With
    `counts_claims=False`, the numbers of running claims are 0: counting them takes time."""
    installation = (await load_installation(tx)).installation
    provider_channels = {
        name: provider.channel for name, provider in (installation.delivery_providers or {}).items()
    }
    banks = frozenset(installation.bank_connections or ())
    mandate_providers = list_mandate_accounts(installation.payment_providers or {})
    reach = find_reach(installation.webhook_networks, key)
    merchant_id = await find_merchant_id_by_key(tx, key)
    if merchant_id is None:
        return MerchantState(
            provider_channels=provider_channels, banks=banks, reach=reach,
            mandate_providers=mandate_providers,
        )  # fmt: skip
    if lock:
        await lock_merchant(tx, merchant_id)
    workflows = await load_workflows(tx, merchant_id)
    published = await find_published_rules(tx, merchant_id)
    draft = await find_rules_draft(tx, merchant_id)
    targets = await load_targets(tx, merchant_id)
    names = {row.workflow_id: row.name for row in targets.values()}
    merchant = await load_merchant(tx, merchant_id)
    active = await count_active_claims(tx, merchant_id) if counts_claims else {}
    uses_scenarios = merchant is not None and not merchant.switched_to_workflows
    return MerchantState(
        merchant=merchant,
        credentials={each.name: each for each in await load_credentials(tx, merchant_id)},
        endpoints={
            each.url: _build_endpoint(keys, each) for each in await load_endpoints(tx, merchant_id)
        },
        workflows=await _load_workflows(tx, merchant_id, workflows, active),
        scenarios=await _load_scenarios(tx, merchant_id, active) if uses_scenarios else {},
        rules=None if published is None else build_document(published.rules, names),
        rules_version=0 if published is None else published.version,
        rules_draft=None if draft is None else build_document(draft.rules, names),
        provider_channels=provider_channels,
        banks=banks,
        mandate_providers=mandate_providers,
        reach=reach,
    )


def _build_endpoint(keys: KeyRing, endpoint: WebhookEndpoint) -> CurrentEndpoint:
    sealed = endpoint.authorization_sealed
    authorization = None
    if sealed is not None:
        owner = (endpoint.merchant_id, endpoint.endpoint_id)
        authorization = open_authorization(keys, *owner, sealed)
    return CurrentEndpoint(endpoint.endpoint_id, endpoint.types, authorization)


async def _load_scenarios(
    tx: Connection, merchant_id: int, active: Mapping[UUID, Mapping[int, int]]
) -> dict[str, CurrentScenario]:
    return {
        scenario.name: CurrentScenario(
            scenario,
            sum(active.get(scenario.workflow_id, {}).values()),
            await count_claims_by_step(tx, merchant_id, scenario.workflow_id),
        )
        for scenario in await load_scenarios(tx, merchant_id)
    }


async def _load_workflows(
    tx: Connection, merchant_id: int, workflows: list[Workflow],
    active: Mapping[UUID, Mapping[int, int]],
) -> dict[str, CurrentWorkflow]:  # fmt: skip
    """Load the workflows by name. `active` maps the id of a workflow to the number of its running
    claims by major version."""
    return {
        workflow.name: CurrentWorkflow(
            workflow_id=workflow.workflow_id,
            current=await load_current(tx, merchant_id, workflow.workflow_id),
            draft=await load_draft(tx, merchant_id, workflow.workflow_id),
            active_claims=active.get(workflow.workflow_id, {}),
            known_steps=await load_known_steps(tx, merchant_id, workflow.workflow_id),
        )
        for workflow in workflows
    }
