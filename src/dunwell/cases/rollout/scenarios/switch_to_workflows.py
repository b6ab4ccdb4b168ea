"""Switch a merchant from scenarios to workflows (spec, Versioning 5 to 7; CONTRACT 7).

Each scenario becomes a workflow of its name with v1.0 as its one version, under the ids drawn when
it was created. Assignment rules point to those ids already, and claims run under them: they go on
at the same step, and what is planned for them stays planned. There is no way back.
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
    """What became of one scenario."""

    scenario_id: int
    name: str
    workflow_id: UUID
    version: str
    version_id: UUID
    # New claims get it when no rule matches.
    is_default: bool
    # Claims in process, which go on at the step they stand at.
    active_claims: int


class SwitchReport(msgspec.Struct, frozen=True, rename="camel"):
    merchant_id: int
    key: str
    scenarios: list[SwitchedScenario]


async def preview_switch(work: Work) -> SwitchReport:
    """What the switch would make of the scenarios as they are now. Raises InvalidState: it is done
    already."""
    work.require(Right.PUBLISH)
    await _check_open(work)
    return await _report(work, await load_scenarios(work.tx, work.merchant_id))


async def switch_to_workflows(work: Work) -> SwitchReport:
    """Raises InvalidState: it is done already.

    1. Hold the merchant's setup: whoever edits a scenario or publishes rules is waited for, and
       comes too late afterwards. Claims are not locked; engines and dispatchers go on, as whatever
       they have loaded says what the copies say.
    2. Publish all scenarios in one statement, each under its copy's version id.
    3. Mark the merchant, as a new revision.
    """
    work.require(Right.PUBLISH)
    await lock_merchant(work.tx, work.merchant_id)
    await _check_open(work)
    scenarios = await load_scenarios(work.tx, work.merchant_id)
    await publish_scenarios(work.tx, work.merchant_id, work.now)
    await save_switched(work.tx, work.merchant_id)
    await save_audit(
        work, "merchant.switch_to_workflows", f"merchant:{work.merchant_id}",
        before={"switchedToWorkflows": False}, after={"switchedToWorkflows": True},
        scenarios=len(scenarios),
    )  # fmt: skip
    return await _report(work, scenarios)


async def _check_open(work: Work) -> None:
    if await load_is_switched(work.tx, work.merchant_id):
        raise InvalidState(
            f'The merchant "{work.merchant.key}" works with workflows already; there is nothing '
            "to switch, and no way back.",
            state="SWITCHED",
        )


async def _report(work: Work, scenarios: list[ScenarioVersion]) -> SwitchReport:
    active = await count_active_claims(work.tx, work.merchant_id)
    default = (await load_rules(work.tx, work.merchant_id)).default
    switched = [
        SwitchedScenario(
            scenario_id=each.scenario_id,
            name=each.name,
            workflow_id=each.workflow_id,
            version=render_version_name(1, 0),
            version_id=each.copy_version_id,
            is_default=each.workflow_id == default,
            active_claims=sum(active.get(each.workflow_id, {}).values()),
        )
        for each in scenarios
    ]
    return SwitchReport(work.merchant_id, work.merchant.key, switched)
