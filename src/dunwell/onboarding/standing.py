"""A merchant as it stands, as far as merchant files speak of it: loaded in a few statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from dunwell.assignment.store import load_rules
from dunwell.events.endpoints import Endpoint, load_endpoints, open_authorization
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.merchants.account import Merchant
from dunwell.merchants.lookup import find_merchant_id_by_key
from dunwell.merchants.store import load_credentials, load_merchant
from dunwell.merchants.store_changes import lock_merchant
from dunwell.workflows.store import Draft, Workflow, load_current, load_draft, load_workflows
from dunwell.workflows.versions import Version

# Reads the merchant's claims once: seldom, and by an operator.
_COUNT_ACTIVE = """
SELECT workflow_id, workflow_major, COUNT(*) AS claims
FROM claims
WHERE merchant_id = $1 AND workflow_id IS NOT NULL AND status IN ('CREATED', 'IN_PROCESS')
GROUP BY workflow_id, workflow_major
"""


@dataclass(frozen=True, slots=True)
class StandingEndpoint:
    endpoint_id: UUID
    types: tuple[str, ...]
    authorization: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class StandingWorkflow:
    workflow_id: UUID
    current: Version | None
    draft: Draft | None
    # Major version -> claims in process on it.
    active_claims: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """No merchant: the file's key is new."""

    merchant: Merchant | None = None
    credentials: frozenset[str] = frozenset()
    # By address.
    endpoints: Mapping[str, StandingEndpoint] = field(default_factory=dict)
    # By name.
    workflows: Mapping[str, StandingWorkflow] = field(default_factory=dict)
    # The name of the workflow new claims get.
    default: str | None = None


async def load_standing(tx: Connection, keys: KeyRing, key: str, *, lock: bool) -> Standing:
    """What there is under a merchant's key; `lock` holds it still until the transaction ends."""
    merchant_id = await find_merchant_id_by_key(tx, key)
    if merchant_id is None:
        return Standing()
    if lock:
        await lock_merchant(tx, merchant_id)
    workflows = await load_workflows(tx, merchant_id)
    rules = await load_rules(tx, merchant_id)
    return Standing(
        merchant=await load_merchant(tx, merchant_id),
        credentials=frozenset(each.name for each in await load_credentials(tx, merchant_id)),
        endpoints={
            each.url: _read_endpoint(keys, each) for each in await load_endpoints(tx, merchant_id)
        },
        workflows=await _load_workflows(tx, merchant_id, workflows),
        default=next((w.name for w in workflows if w.workflow_id == rules.default), None),
    )


def _read_endpoint(keys: KeyRing, endpoint: Endpoint) -> StandingEndpoint:
    sealed = endpoint.authorization_sealed
    authorization = None
    if sealed is not None:
        owner = (endpoint.merchant_id, endpoint.endpoint_id)
        authorization = open_authorization(keys, *owner, sealed)
    return StandingEndpoint(endpoint.endpoint_id, endpoint.types, authorization)


async def _load_workflows(
    tx: Connection, merchant_id: int, workflows: list[Workflow]
) -> dict[str, StandingWorkflow]:
    active: dict[UUID, dict[int, int]] = {}
    for row in await tx.fetch(_COUNT_ACTIVE, merchant_id):
        active.setdefault(row["workflow_id"], {})[row["workflow_major"]] = row["claims"]
    return {
        workflow.name: StandingWorkflow(
            workflow.workflow_id,
            await load_current(tx, merchant_id, workflow.workflow_id),
            await load_draft(tx, merchant_id, workflow.workflow_id),
            active.get(workflow.workflow_id, {}),
        )
        for workflow in workflows
    }
