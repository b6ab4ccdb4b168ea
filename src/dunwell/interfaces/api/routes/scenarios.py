"""List scenarios and assign claims to one: legacy, and kept working after the switch (spec, List
scenarios; Assign claims to a scenario; Versioning 5).
"""

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.assign_claims import assign_to_scenario
from dunwell.cases.assignment.store import load_rules
from dunwell.core.workflows.definition import ProcessSettings
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.core.workflows.versions.versions import Scenario, kind_of
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Body, Endpoint, Operation, Span
from dunwell.interfaces.api.paths import read_scenario_id
from dunwell.interfaces.api.routes.parameters import MERCHANT_ID, SCENARIO_ID
from dunwell.interfaces.api.routes.processes import read_claim_ids, show_outcome
from dunwell.interfaces.api.schemas.processes import (
    FURTHER_ASSIGNMENT_BODIES,
    AssignmentRequest,
    AssignmentResult,
    ContactHours,
    Holidays,
    ScenarioActionStep,
    ScenarioCalendar,
)
from dunwell.interfaces.api.schemas.processes import Scenario as ScenarioShown
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import InvalidRequest, ValidationError, WorkflowAssignmentError

_LEGACY = (
    "Legacy: it works as long as its retirement is not announced, which its answers would do in "
    "the headers `Deprecation` and `Sunset`. Use {} once the merchant is switched to workflows."
)

LIST_SCENARIOS = Operation(
    operation_id="listScenarios",
    method="GET",
    path="/merchants/{merchant_id}/scenarios",
    tag="Scenarios",
    summary="List scenarios",
    description=(
        "Every scenario, in the order of their ids. After the switch their contents stay those "
        "of that moment.\n\n" + _LEGACY.format("the workflow list")
    ),
    parameters=(MERCHANT_ID,),
    result=list[ScenarioShown],
    example=[
        {
            "id": 12,
            "name": "Standard",
            "description": "One reminder, then a fee.",
            "merchantId": 1,
            "isDefault": True,
            "isActive": True,
            "languages": ["de", "en"],
            "calendars": [
                {
                    "timezone": "Europe/Berlin",
                    "contactHours": {
                        "weekdays": ["MON", "TUE", "WED", "THU", "FRI"],
                        "from": "09:00",
                        "to": "18:00",
                    },
                    "holidays": {"country": "DE", "subdivision": "HH"},
                }
            ],
            "actionSteps": [
                {"id": 1, "name": "First reminder", "kind": "COMMUNICATION"},
                {"id": 2, "name": "Wait a week", "kind": "WAIT"},
                {"id": 3, "name": "Dunning fee", "kind": "FEE"},
                {"id": 4, "name": "Ask the ERP", "kind": "CHECKPOINT"},
                {"id": 5, "name": "Last wait", "kind": "WAIT"},
            ],
        }
    ],
    is_legacy=True,
)

ASSIGN_TO_SCENARIO = Operation(
    operation_id="assignToScenario",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/scenarios/{scenario_id}/assignments",
    tag="Scenarios",
    summary="Assign claims to a scenario",
    description=(
        "Starts the scenario on each claim, at its first step, as assigning to a workflow does. "
        "After the switch the claims are assigned to the workflow that the scenario became: each "
        "result has `workflowId` then, and no `scenarioId`.\n\n"
        + _LEGACY.format("assigning to a workflow")
    ),
    parameters=(MERCHANT_ID, SCENARIO_ID),
    body=Body(
        media_type="application/json",
        shape=AssignmentRequest,
        description=FURTHER_ASSIGNMENT_BODIES,
        example={"claimIds": [4711, 4712]},
    ),
    result=list[AssignmentResult],
    example=[{"claimId": 4711, "scenarioId": 12}, {"claimId": 4712, "scenarioId": 12}],
    refusals=(InvalidRequest, ValidationError, WorkflowAssignmentError),
    is_legacy=True,
)


async def _list(call: Call) -> list[ScenarioShown]:
    call.query.check()
    tx, merchant_id = call.work.tx, call.work.merchant_id
    async with snapshot(tx):
        scenarios = await load_scenarios(tx, merchant_id)
        rules = await load_rules(tx, merchant_id)
    return [_show(call, each, is_default=each.workflow_id == rules.default) for each in scenarios]


def _show(call: Call, scenario: Scenario, *, is_default: bool) -> ScenarioShown:
    definition = scenario.definition
    timezone = definition.settings.timezone or call.merchant.configuration.timezone
    return ScenarioShown(
        id=scenario.scenario_id,
        name=scenario.name,
        description=scenario.description,
        merchant_id=call.work.merchant_id,
        is_default=is_default,
        is_active=scenario.is_active,
        languages=definition.settings.languages,
        calendars=_show_calendars(definition.settings, timezone),
        action_steps=[
            ScenarioActionStep(step.id, step.name, kind_of(step)) for step in definition.steps
        ],
    )


def _show_calendars(settings: ProcessSettings, timezone: str) -> list[ScenarioCalendar]:
    hours, holidays = settings.contact_hours, settings.holidays
    if hours is None and holidays is None:
        return []
    return [
        ScenarioCalendar(
            timezone,
            ContactHours([*hours.weekdays], hours.since, hours.until) if hours else None,
            Holidays(holidays.country, holidays.subdivision) if holidays else None,
        )
    ]


async def _assign(call: Call) -> list[AssignmentResult] | WorkflowAssignmentError:
    call.query.check()
    claim_ids = read_claim_ids(call.body)
    scenario_id = read_scenario_id(call.path["scenario_id"])
    outcome = await assign_to_scenario(call.work, scenario_id, claim_ids)
    return show_outcome(outcome, None if call.merchant.switched_to_workflows else scenario_id)


ENDPOINTS = (
    Endpoint(LIST_SCENARIOS, _list, Span.CONNECTION),
    Endpoint(ASSIGN_TO_SCENARIO, _assign),
)
