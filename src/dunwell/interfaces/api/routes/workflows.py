"""List workflows and scenarios, assign claims to one of them, and start the assignment by rules."""

from uuid import UUID

from msgspec import UNSET

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.assign_claims import (
    assign_to_scenario,
    assign_to_workflow,
    start_assignment,
)
from dunwell.cases.assignment.decision import AssignedWorkflow, AssignmentOutcome
from dunwell.cases.assignment.store import load_rules
from dunwell.core.workflows.definition import ProcessSettings
from dunwell.core.workflows.scenarios.store import find_scenario_id, load_scenarios
from dunwell.core.workflows.store import load_workflows
from dunwell.core.workflows.versions.versions import ScenarioVersion, get_kind
from dunwell.interfaces.api.address import parse_claim_id, parse_scenario_id, parse_workflow_id
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import CLAIM_ID, MERCHANT_ID, SCENARIO_ID, WORKFLOW_ID
from dunwell.interfaces.api.schemas.workflows import (
    FURTHER_ASSIGNMENT_BODIES,
    AnyAssignmentRequest,
    AssignedClaim,
    AssignmentRequest,
    AssignmentResult,
    ContactHours,
    Holidays,
    ScenarioActionStep,
    ScenarioCalendar,
    WorkflowMetadata,
)
from dunwell.interfaces.api.schemas.workflows import Scenario as ScenarioShown
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import (
    InvalidRequest,
    InvalidState,
    NotFound,
    ValidationError,
    WorkflowAssignmentError,
)
from dunwell.platform.text.wire import render_instant

# Replaces an id that cannot be a workflow's. No workflow has this id.
_NO_WORKFLOW = UUID(int=0)
_WORKFLOW = "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"

LIST_WORKFLOWS = Operation(
    operation_id="listWorkflows",
    method="GET",
    path="/merchants/{merchant_id}/workflows-meta",
    tag="Workflows",
    summary="List workflows",
    description=(
        "All workflows that have a published version, including deactivated ones. `version` is "
        "the current version, which new assignments use.\n\n"
        "Until the merchant is switched to workflows, these are the workflows that its "
        "scenarios would become, without guarantee."
    ),
    parameters=(MERCHANT_ID,),
    result=list[WorkflowMetadata],
    example=[
        {
            "id": "01955478-0a00-7b6e-9c3d-4e5f60718293",
            "name": "Standard",
            "version": "01955478-0a01-7c8f-8d4e-5f6071829304",
            "assignmentEnabled": True,
            "createdAt": "2026-03-01T09:00:00.000Z",
        },
        {
            "id": _WORKFLOW,
            "name": "Standard dunning",
            "version": "0195547a-1f41-7aa2-8d07-52d3f0a1c0de",
            "assignmentEnabled": True,
            "createdAt": "2026-03-02T09:00:00.000Z",
        },
    ],
)

ASSIGN_TO_WORKFLOW = Operation(
    operation_id="assignToWorkflow",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/assignments/workflows/{workflow_id}",
    tag="Assignments",
    summary="Assign claims to a workflow",
    description=(
        "Starts the workflow's current version on each claim, at its first step. A claim that "
        "is already on the workflow stays at its step. A claim on another workflow leaves it, "
        "and its unsent messages are cancelled. At most 1,000 claims; the results have the same "
        "order.\n\n"
        "If some claims cannot be assigned, the response is a WorkflowAssignmentError that "
        "names each of them; all others are assigned. Until the merchant is switched to "
        "workflows, no claim can be assigned."
    ),
    parameters=(MERCHANT_ID, WORKFLOW_ID),
    body=RequestBody(
        media_type="application/json",
        shape=AssignmentRequest,
        description=FURTHER_ASSIGNMENT_BODIES,
        example={"claimIds": [4711, 4712]},
    ),
    result=list[AssignmentResult],
    example=[
        {"claimId": 4711, "workflowId": _WORKFLOW},
        {"claimId": 4712, "workflowId": _WORKFLOW},
    ],
    refusals=(InvalidRequest, ValidationError, WorkflowAssignmentError),
)

START_ASSIGNMENT = Operation(
    operation_id="startAssignment",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/assignments/claim/{claim_id}",
    tag="Assignments",
    summary="Start assignment",
    description=(
        "Assigns the claim by the merchant's assignment rules. For a claim in process, the "
        "current assignment is returned and nothing changes. The response has `workflowId`, or "
        "`scenarioId` until the merchant is switched to workflows, or neither if no rule "
        "matches. No body is needed."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=AssignmentResult,
    example={"claimId": 4711, "workflowId": _WORKFLOW},
    refusals=(InvalidState,),
)


async def _list_workflows(call: ApiCall) -> list[WorkflowMetadata]:
    call.query.check()
    if not call.merchant.switched_to_workflows:
        return await _list_workflows_of_scenarios(call)
    return [
        WorkflowMetadata(
            id=str(workflow.workflow_id),
            name=workflow.name,
            version=str(workflow.version_id),
            assignment_enabled=workflow.assignment_enabled,
            created_at=render_instant(workflow.created_at),
        )
        for workflow in await load_workflows(call.work.tx, call.work.merchant_id)
        if workflow.version_id is not None and workflow.major is not None
    ]


async def _list_workflows_of_scenarios(call: ApiCall) -> list[WorkflowMetadata]:
    """Return the workflows that the merchant's scenarios would become."""
    return [
        WorkflowMetadata(
            id=str(scenario.workflow_id),
            name=scenario.name,
            version=str(scenario.reserved_version_id),
            assignment_enabled=scenario.is_active,
            created_at=render_instant(scenario.created_at),
        )
        for scenario in await load_scenarios(call.work.tx, call.work.merchant_id)
    ]


async def _assign(call: ApiCall) -> list[AssignmentResult] | WorkflowAssignmentError:
    call.query.check()
    claim_ids = parse_claim_ids(call.body)
    workflow_id_text = call.path["workflow_id"]
    workflow_id = parse_workflow_id(workflow_id_text)
    if workflow_id is None and call.merchant.switched_to_workflows:
        raise NotFound(f"There is no workflow {workflow_id_text[:64]}.")
    outcome = await assign_to_workflow(call.work, workflow_id or _NO_WORKFLOW, claim_ids)
    return build_assignment_results(outcome, None)


def parse_claim_ids(body: bytes) -> list[int]:
    submitted: AssignmentRequest | list[int | AssignedClaim] = parse_body(
        body, AnyAssignmentRequest
    )
    if isinstance(submitted, AssignmentRequest):
        return submitted.claim_ids
    return [each.claim_id if isinstance(each, AssignedClaim) else each for each in submitted]


def build_assignment_results(
    outcome: AssignmentOutcome, scenario_id: int | None
) -> list[AssignmentResult] | WorkflowAssignmentError:
    """Build the results, or the error if some claims were not assigned. `scenario_id` is the
    scenario that the claims were assigned to, or None if the merchant was switched to workflows."""
    if not outcome.failures:
        return [_build_assignment_result(each, scenario_id) for each in outcome.assigned]
    return WorkflowAssignmentError(
        "Some claims were not assigned. See details.errors. All others were assigned.",
        errors=[{"claimId": each.claim_id, "message": each.message} for each in outcome.failures],
    )


async def _start(call: ApiCall) -> AssignmentResult:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    assignment = await start_assignment(call.work, claim_id)
    scenario_id, workflow_id = None, assignment.workflow_id
    if workflow_id is not None and not call.merchant.switched_to_workflows:
        scenario_id = await find_scenario_id(call.work.tx, call.work.merchant_id, workflow_id)
    return _build_assignment_result(assignment, scenario_id)


def _build_assignment_result(
    assignment: AssignedWorkflow, scenario_id: int | None
) -> AssignmentResult:
    if scenario_id is not None:
        return AssignmentResult(assignment.claim_id, scenario_id=scenario_id)
    workflow_id = assignment.workflow_id
    return AssignmentResult(
        assignment.claim_id, workflow_id=UNSET if workflow_id is None else str(workflow_id)
    )


ENDPOINTS = (
    ApiEndpoint(LIST_WORKFLOWS, _list_workflows, DatabaseScope.CONNECTION),
    ApiEndpoint(ASSIGN_TO_WORKFLOW, _assign),
    ApiEndpoint(START_ASSIGNMENT, _start),
)


_LEGACY = (
    "Legacy: its retirement will be announced in the response headers `Deprecation` and `Sunset`. "
    "Use {} once the merchant is switched to workflows."
)

LIST_SCENARIOS = Operation(
    operation_id="listScenarios",
    method="GET",
    path="/merchants/{merchant_id}/scenarios",
    tag="Scenarios",
    summary="List scenarios",
    description=(
        "All scenarios, ordered by id. After the switch to workflows, they keep the contents that "
        "they had then.\n\n" + _LEGACY.format("the workflow list")
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
        "After the switch to workflows, the claims are assigned to the workflow that the scenario "
        "became, and each result has `workflowId` instead of `scenarioId`.\n\n"
        + _LEGACY.format("assigning to a workflow")
    ),
    parameters=(MERCHANT_ID, SCENARIO_ID),
    body=RequestBody(
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


async def _list(call: ApiCall) -> list[ScenarioShown]:
    call.query.check()
    tx, merchant_id = call.work.tx, call.work.merchant_id
    async with snapshot(tx):
        scenarios = await load_scenarios(tx, merchant_id)
        rules = await load_rules(tx, merchant_id)
    return [
        _build_scenario(call, each, is_default=each.workflow_id == rules.default)
        for each in scenarios
    ]


def _build_scenario(call: ApiCall, scenario: ScenarioVersion, *, is_default: bool) -> ScenarioShown:
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
        calendars=_build_calendars(definition.settings, timezone),
        action_steps=[
            ScenarioActionStep(step.id, step.name, get_kind(step)) for step in definition.steps
        ],
    )


def _build_calendars(settings: ProcessSettings, timezone: str) -> list[ScenarioCalendar]:
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


async def _assign_to_scenario(call: ApiCall) -> list[AssignmentResult] | WorkflowAssignmentError:
    call.query.check()
    claim_ids = parse_claim_ids(call.body)
    scenario_id = parse_scenario_id(call.path["scenario_id"])
    outcome = await assign_to_scenario(call.work, scenario_id, claim_ids)
    return build_assignment_results(
        outcome, None if call.merchant.switched_to_workflows else scenario_id
    )


SCENARIO_ENDPOINTS = (
    ApiEndpoint(LIST_SCENARIOS, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(ASSIGN_TO_SCENARIO, _assign_to_scenario),
)
