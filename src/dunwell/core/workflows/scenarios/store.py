"""The SQL of scenarios (spec, Scenario).

A scenario is a workflow with one version in the state SCENARIO, which is edited in place until the
switch publishes that row. The id of the workflow is assigned at creation, and so is the version id
that the switch will give the row (`reserved_version_id`). Until then the row has a version id that
changes with each edit.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import KnownStep, ScenarioVersion
from dunwell.platform.database.database import Connection, Row

# After the switch the same row is v1.0 of the workflow and never changes. Uses primary keys.
_LOAD_SCENARIOS = """
SELECT scenario.scenario_id, scenario.workflow_id, workflow.name, scenario.description,
    workflow.assignment_enabled AS is_active, scenario.reserved_version_id, version.version_id,
    scenario.created_at, version.definition, scenario.retired_steps
FROM scenarios AS scenario
JOIN workflows AS workflow USING (merchant_id, workflow_id)
JOIN workflow_versions AS version
    ON version.merchant_id = scenario.merchant_id
    AND version.workflow_id = scenario.workflow_id
    AND (version.state = 'SCENARIO' OR version.version_id = scenario.reserved_version_id)
WHERE scenario.merchant_id = $1
ORDER BY scenario.scenario_id
"""

_FIND_WORKFLOW = "SELECT workflow_id FROM scenarios WHERE merchant_id = $1 AND scenario_id = $2"

# Uses the key scenarios (merchant_id, workflow_id).
_FIND_SCENARIO = "SELECT scenario_id FROM scenarios WHERE merchant_id = $1 AND workflow_id = $2"

_INSERT = """
WITH workflow AS (
    INSERT INTO workflows (merchant_id, workflow_id, name, created_at)
    VALUES ($1, $2, $3, $7)
), version AS (
    INSERT INTO workflow_versions
        (merchant_id, version_id, workflow_id, state, major, minor, definition, created_at)
    VALUES ($1, $5, $2, 'SCENARIO', 1, 0, $6, $7)
)
INSERT INTO scenarios (merchant_id, workflow_id, reserved_version_id, description, created_at)
VALUES ($1, $2, $4, $8, $7)
RETURNING scenario_id
"""

# A changed definition gets a new version id, so that no id names two contents.
_UPDATE_DEFINITION = """
WITH version AS (
    UPDATE workflow_versions
    SET version_id = $3, definition = $4, created_at = $6
    WHERE merchant_id = $1 AND workflow_id = $2 AND state = 'SCENARIO'
)
UPDATE scenarios
SET retired_steps = $5
WHERE merchant_id = $1 AND workflow_id = $2
"""

_UPDATE_DESCRIPTION = """
UPDATE scenarios
SET description = $3
WHERE merchant_id = $1 AND workflow_id = $2
"""

# Publishes all scenarios of a merchant in one statement.
_PUBLISH_ALL = """
UPDATE workflow_versions AS version
SET state = 'PUBLISHED', version_id = scenario.reserved_version_id, published_at = $2
FROM scenarios AS scenario
WHERE version.merchant_id = $1
    AND scenario.merchant_id = $1
    AND version.workflow_id = scenario.workflow_id
    AND version.state = 'SCENARIO'
"""

_GREATEST_INTEGER = 2**31 - 1


async def load_scenarios(tx: Connection, merchant_id: int) -> list[ScenarioVersion]:
    """Return the merchant's scenarios in the order of their ids. After the switch, the definitions
    are those that the switch published; `name` and `is_active` are the workflow's present ones."""
    return [_build_scenario(row) for row in await tx.fetch(_LOAD_SCENARIOS, merchant_id)]


async def find_scenario_workflow(tx: Connection, merchant_id: int, scenario_id: int) -> UUID | None:
    """Return the workflow of the scenario, or None if there is no such scenario."""
    if not 0 < scenario_id <= _GREATEST_INTEGER:
        return None
    workflow_id: UUID | None = await tx.fetchval(_FIND_WORKFLOW, merchant_id, scenario_id)
    return workflow_id


async def find_scenario_id(tx: Connection, merchant_id: int, workflow_id: UUID) -> int | None:
    """Return the scenario of the workflow, or None if the workflow has none."""
    scenario_id: int | None = await tx.fetchval(_FIND_SCENARIO, merchant_id, workflow_id)
    return scenario_id


async def save_new_scenario(tx: Connection, merchant_id: int, scenario: ScenarioVersion) -> int:
    """Insert a scenario with an unused name and return its new id. `scenario.scenario_id` is
    ignored."""
    scenario_id: int = await tx.fetchval(
        _INSERT, merchant_id, scenario.workflow_id, scenario.name, scenario.reserved_version_id,
        scenario.version_id, _to_document(scenario.definition), scenario.created_at,
        scenario.description,
    )  # fmt: skip
    return scenario_id


async def save_scenario_definition(
    tx: Connection, merchant_id: int, scenario: ScenarioVersion, now: datetime
) -> None:
    """Replace version id, definition and retired steps."""
    retired = [
        {"id": step_id, "kind": step.kind, "name": step.name}
        for step_id, step in scenario.retired.items()
    ]
    await tx.execute(
        _UPDATE_DEFINITION, merchant_id, scenario.workflow_id, scenario.version_id,
        _to_document(scenario.definition), retired, now,
    )  # fmt: skip


async def save_scenario_description(
    tx: Connection, merchant_id: int, workflow_id: UUID, description: str
) -> None:
    await tx.execute(_UPDATE_DESCRIPTION, merchant_id, workflow_id, description)


async def publish_scenarios(tx: Connection, merchant_id: int, now: datetime) -> None:
    """Publish each scenario as v1.0 of its workflow. The rows never change again."""
    await tx.execute(_PUBLISH_ALL, merchant_id, now)


def _build_scenario(row: Row) -> ScenarioVersion:
    values = dict(row)
    definition = msgspec.convert(values.pop("definition"), Definition)
    retired = {
        step["id"]: KnownStep(step["kind"], step["name"], "removed")
        for step in values.pop("retired_steps")
    }
    return ScenarioVersion(**values, definition=definition, retired=retired)


def _to_document(definition: Definition) -> Any:
    return msgspec.to_builtins(definition)
