"""List, create and edit scenarios (CONTRACT 7). Running claims follow an edited scenario from their
next step on."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import increment_revision
from dunwell.cases.assignment.store import load_rules
from dunwell.cases.rollout.contact_waits import list_contact_warnings
from dunwell.cases.rollout.publish_workflow import list_content_faults
from dunwell.cases.rollout.scenarios.scenario_edit import ScenarioEdit, decide_edit, has_same_steps
from dunwell.cases.rollout.scenarios.store import (
    ScenarioMoves,
    count_claims_by_step,
    lock_scenario_claims,
    move_claims,
)
from dunwell.cases.rollout.store import count_active_claims
from dunwell.core.workflows.change_workflow import lock_scenarios_for_change
from dunwell.core.workflows.checking import check_workflow_name
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.scenarios.store import (
    load_scenarios,
    save_new_scenario,
    save_scenario_definition,
    save_scenario_description,
)
from dunwell.core.workflows.store import lock_for_deletion
from dunwell.core.workflows.versions.versions import ScenarioVersion
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.text.shape import suggest_known


class ScenarioView(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    name: str
    description: str
    # If no rule matches, new claims get the default scenario. Claims can only be assigned to active
    # scenarios.
    is_default: bool
    is_active: bool
    # The workflow that it becomes, or became, by the switch.
    workflow_id: UUID
    # Active claims on the scenario or on the workflow that it became.
    active_claims: int
    definition: dict[str, Any]


async def list_scenarios(work: Work) -> list[ScenarioView]:
    """List the scenarios by id."""
    work.require(Right.READ_CLAIMS)
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


async def get_scenario(work: Work, name: str) -> ScenarioView:
    """Return the scenario of this name. Raises NotFound, which names the most similar one."""
    work.require(Right.READ_CLAIMS)
    scenarios = {each.name: each for each in await list_scenarios(work)}
    if name not in scenarios:
        nearest = suggest_known(name, list(scenarios))
        raise NotFound(f'There is no scenario "{name}". {nearest}')
    return scenarios[name]


class SavedScenario(msgspec.Struct, frozen=True, rename="camel"):
    scenario_id: int
    # The workflow that it becomes by the switch.
    workflow_id: UUID
    is_new: bool
    # True if anything differs from before.
    is_changed: bool
    # What the edit means for running claims.
    effects: list[str] = []
    # What should be changed in the scenario.
    warnings: list[str] = []


async def save_scenario(
    work: Work, name: str, definition: Definition, description: str | None = None
) -> SavedScenario:
    """Create the scenario of this name, or replace its definition. Without a description, the
    present one is kept.

    Raises ValidationError with all faults (pointers from the definition's root, or /name), and
    InvalidState if the merchant uses workflows.
    """
    work.require(Right.PUBLISH)
    check_workflow_name(name)
    await lock_scenarios_for_change(work)
    faults = await run_in_thread(list_content_faults, definition, work.merchant.configuration)
    if faults:
        raise ValidationError(list(dict.fromkeys(faults)))
    existing = {each.name: each for each in await load_scenarios(work.tx, work.merchant_id)}
    if name not in existing:
        saved = await _create(work, name, definition, description or "")
    else:
        saved = await _edit(work, existing[name], definition, description)
    warnings = [str(each.message) for each in list_contact_warnings(definition)]
    return msgspec.structs.replace(saved, warnings=warnings)


async def _create(work: Work, name: str, definition: Definition, description: str) -> SavedScenario:
    workflow_id, reserved_version_id, version_id = (work.ids.new(work.now) for _ in range(3))
    scenario = ScenarioVersion(
        scenario_id=0, workflow_id=workflow_id, reserved_version_id=reserved_version_id, name=name,
        description=description, is_active=True, created_at=work.now, version_id=version_id,
        definition=definition, retired={},
    )  # fmt: skip
    scenario_id = await save_new_scenario(work.tx, work.merchant_id, scenario)
    await increment_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "scenario.create", f"scenario:{scenario_id}",
        after={"name": name, **_build_audit_values(definition, description)},
        workflowId=str(workflow_id),
    )  # fmt: skip
    return SavedScenario(scenario_id, workflow_id, is_new=True, is_changed=True)


async def _edit(
    work: Work, scenario: ScenarioVersion, definition: Definition, description: str | None
) -> SavedScenario:
    """Edit a scenario.

    1. Prevent new assignments and, if steps are added or removed, lock the scenario's claims.
    2. Decide where the claims continue.
    3. Store the definition under a new version id, and move the claims.
    """
    saved = SavedScenario(
        scenario.scenario_id, scenario.workflow_id, is_new=False, is_changed=False
    )
    if description is not None and description != scenario.description:
        await save_scenario_description(
            work.tx, work.merchant_id, scenario.workflow_id, description
        )
        saved = msgspec.structs.replace(saved, is_changed=True)
    if definition != scenario.definition:
        edit = await _change_definition(work, scenario, definition)
        saved = msgspec.structs.replace(saved, is_changed=True, effects=list(edit.effects))
    if saved.is_changed:
        await increment_revision(work.tx, work.merchant_id)
        description_after = scenario.description if description is None else description
        before, after = select_changed_fields(
            _build_audit_values(scenario.definition, scenario.description),
            _build_audit_values(definition, description_after),
        )
        await save_audit(
            work, "scenario.edit", f"scenario:{scenario.scenario_id}", before=before, after=after
        )
    return saved


def _build_audit_values(definition: Definition, description: str) -> dict[str, Any]:
    return {"description": description, **msgspec.to_builtins(definition)}


async def _change_definition(
    work: Work, scenario: ScenarioVersion, definition: Definition
) -> ScenarioEdit:
    workflow_id = scenario.workflow_id
    await lock_for_deletion(work.tx, work.merchant_id, workflow_id)
    is_same = has_same_steps(scenario.definition, definition)
    claims_by_step: dict[int | None, int] = {}
    if not is_same:
        await lock_scenario_claims(work.tx, work.merchant_id, workflow_id)
        claims_by_step = await count_claims_by_step(work.tx, work.merchant_id, workflow_id)
    edit = decide_edit(scenario.definition, definition, scenario.retired, claims_by_step)
    if edit.faults:
        raise ValidationError(list(edit.faults))
    version_id = work.ids.new(work.now)
    edited = replace(
        scenario, version_id=version_id, definition=definition,
        retired={**scenario.retired, **edit.removed},
    )  # fmt: skip
    await save_scenario_definition(work.tx, work.merchant_id, edited, work.now)
    if not is_same:
        first, removed = definition.steps[0].id, list(edit.removed)
        moving = ScenarioMoves(
            workflow_id=workflow_id,
            version_id=version_id,
            first_step_id=first,
            moves=edit.moves,
            removed_step_ids=removed,
        )
        await move_claims(work.tx, work.merchant_id, moving, work.now)
    return edit
