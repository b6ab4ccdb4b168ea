"""List a merchant's scenarios, show one: before the switch, and as they were afterwards."""

from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.store import load_rules
from dunwell.cases.rollout.store import count_active_claims
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.platform.errors import NotFound
from dunwell.platform.text.shape import render_nearest


class ScenarioView(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    name: str
    description: str
    # Whether new claims get it when no rule matches, and whether they can be assigned to it.
    is_default: bool
    is_active: bool
    # What it becomes, or became, by the switch.
    workflow_id: UUID
    # Claims in process on it, or on what it became.
    active_claims: int
    definition: dict[str, Any]


async def list_scenarios(work: Work) -> list[ScenarioView]:
    """In the order of their ids."""
    work.need(Right.READ_CLAIMS)
    default = (await load_rules(work.tx, work.merchant_id)).default
    active = await count_active_claims(work.tx, work.merchant_id)
    return [
        ScenarioView(
            id=each.scenario_id,
            name=each.name,
            description=each.description,
            is_default=each.workflow_id == default,
            is_active=each.is_active,
            workflow_id=each.workflow_id,
            active_claims=sum(active.get(each.workflow_id, {}).values()),
            definition=render_document(each.definition),
        )
        for each in await load_scenarios(work.tx, work.merchant_id)
    ]


async def show_scenario(work: Work, name: str) -> ScenarioView:
    """Raises NotFound, which names the nearest."""
    work.need(Right.READ_CLAIMS)
    scenarios = {each.name: each for each in await list_scenarios(work)}
    if name not in scenarios:
        nearest = render_nearest(name, list(scenarios))
        raise NotFound(f'There is no scenario "{name}". {nearest}')
    return scenarios[name]
