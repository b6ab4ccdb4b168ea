"""Switch a merchant from scenarios to workflows (spec, Versioning 5 to 7; CONTRACT 7).

Each scenario becomes a workflow with the same name and v1.0 as its only version, under the ids that
were reserved when it was created. Assignment rules and claims already use these ids, so claims
continue at their step and keep their planned contacts. The switch cannot be undone.
"""

from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_is_switched, lock_merchant, save_switched
from dunwell.cases.assignment.store import load_rules
from dunwell.cases.rollout.store import count_active_claims
from dunwell.core.workflows.scenarios.store import load_scenarios, publish_scenarios
from dunwell.core.workflows.versions.versions import ScenarioVersion, render_version_name
from dunwell.platform.errors import InvalidState


class SwitchedScenario(msgspec.Struct, frozen=True, rename="camel"):
    """The workflow that a scenario became."""

    scenario_id: int
    name: str
    workflow_id: UUID
    version: str
    version_id: UUID
    # True if new claims get it if no rule matches.
    is_default: bool
    # Active claims, which continue at their present step.
    active_claims: int


class SwitchReport(msgspec.Struct, frozen=True, rename="camel"):
    merchant_id: int
    key: str
    scenarios: list[SwitchedScenario]


async def preview_switch(work: Work) -> SwitchReport:
    """Return what the switch would do to the present scenarios. Raises InvalidState if the merchant
    has already switched."""
    work.require(Right.PUBLISH)
    await _check_not_switched(work)
    return await _build_report(work, await load_scenarios(work.tx, work.merchant_id))


async def switch_to_workflows(work: Work) -> SwitchReport:
    """Switch the merchant. Raises InvalidState if it has already switched.

    1. Lock the merchant's row. This waits for concurrent edits of scenarios and rules; later
       ones are refused. Claims are not locked: workers continue, because the copies contain the
       definitions that they have loaded.
    2. Publish all scenarios in one statement, each under its reserved version id.
    3. Mark the merchant as switched, with a new revision.
    """
    work.require(Right.PUBLISH)
    await lock_merchant(work.tx, work.merchant_id)
    await _check_not_switched(work)
    scenarios = await load_scenarios(work.tx, work.merchant_id)
    await publish_scenarios(work.tx, work.merchant_id, work.now)
    await save_switched(work.tx, work.merchant_id)
    await save_audit(
        work, "merchant.switch_to_workflows", f"merchant:{work.merchant_id}",
        before={"switchedToWorkflows": False}, after={"switchedToWorkflows": True},
        scenarios=len(scenarios),
    )  # fmt: skip
    return await _build_report(work, scenarios)


async def _check_not_switched(work: Work) -> None:
    if await load_is_switched(work.tx, work.merchant_id):
        raise InvalidState(
            f'The merchant "{work.merchant.key}" already uses workflows. '
            "There is nothing to switch, and the switch cannot be undone.",
            state="SWITCHED",
        )


async def _build_report(work: Work, scenarios: list[ScenarioVersion]) -> SwitchReport:
    active = await count_active_claims(work.tx, work.merchant_id)
    default = (await load_rules(work.tx, work.merchant_id)).default
    switched = [
        SwitchedScenario(
            scenario_id=each.scenario_id,
            name=each.name,
            workflow_id=each.workflow_id,
            version=render_version_name(1, 0),
            version_id=each.reserved_version_id,
            is_default=each.workflow_id == default,
            active_claims=sum(active.get(each.workflow_id, {}).values()),
        )
        for each in scenarios
    ]
    return SwitchReport(work.merchant_id, work.merchant.key, switched)
