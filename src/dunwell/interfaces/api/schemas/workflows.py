"""Workflows, scenarios, assignments and the test clock on the wire (CONTRACT 12; spec, Workflow
metadata; Scenario; Assignment result)."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from dunwell.platform.text.wire import GivenInstant, Instant, Uuid, Wire, WireInput

MAX_ASSIGNED = 1000


class WorkflowMetadata(Wire, frozen=True):
    """A workflow with a published version."""

    id: Uuid
    name: str
    version: Annotated[Uuid, Meta(description="The current version.")]
    assignment_enabled: Annotated[
        bool, Meta(description="False if deactivated: assignment rules skip it.")
    ]
    created_at: Instant


class ContactHours(Wire, frozen=True):
    """The hours in which debtors are contacted, in local time. `to` is exclusive."""

    weekdays: list[Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]]
    since: Annotated[str, Meta(examples=["09:00"])] = field(name="from")
    until: Annotated[str, Meta(examples=["18:00"])] = field(name="to")


class Holidays(Wire, frozen=True):
    """The public holidays on which debtors are not contacted."""

    country: Annotated[str, Meta(description="ISO 3166-1 alpha-2.")]
    subdivision: Annotated[
        str | None, Meta(description="A subdivision of the country, for example HH.")
    ]


class ScenarioCalendar(Wire, frozen=True):
    """The contact hours and holidays of a scenario, in its time zone."""

    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    contact_hours: Annotated[
        ContactHours | None, Meta(description="Null if debtors are contacted at any hour.")
    ]
    holidays: Annotated[Holidays | None, Meta(description="Null if holidays are not observed.")]


class ScenarioActionStep(Wire, frozen=True):
    id: Annotated[int, Meta(description="The `actionStep.id` of events.")]
    name: str
    kind: Annotated[
        str, Meta(extra_json_schema={"enum": ["COMMUNICATION", "WAIT", "FEE", "CHECKPOINT"]})
    ]


class Scenario(Wire, frozen=True):
    """A workflow of a merchant that is not, or was not always, switched to workflows (spec,
    Scenario)."""

    id: int
    name: str
    description: str
    merchant_id: int
    is_default: Annotated[
        bool, Meta(description="Whether it is the default of the assignment rules.")
    ]
    is_active: Annotated[bool, Meta(description="False if deactivated: assignment rules skip it.")]
    languages: Annotated[
        list[str], Meta(description="The languages of its texts, as ISO 639 codes.")
    ]
    calendars: Annotated[
        list[ScenarioCalendar],
        Meta(description="Empty if debtors are contacted at any hour of any day."),
    ]
    action_steps: Annotated[list[ScenarioActionStep], Meta(description="The steps in their order.")]


class AssignmentResult(Wire, frozen=True, omit_defaults=True):
    """A claim and its assignment: `scenarioId` until the merchant is switched to workflows,
    `workflowId` afterwards, and neither if it stays unassigned."""

    claim_id: int
    scenario_id: int | UnsetType = UNSET
    workflow_id: Uuid | UnsetType = UNSET


ClaimId = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class AssignmentRequest(WireInput, frozen=True):
    """The claims to assign. Repeated ids count once."""

    claim_ids: Annotated[list[ClaimId], Meta(min_length=1, max_length=MAX_ASSIGNED)]


class AssignedClaim(WireInput, frozen=True):
    claim_id: ClaimId


AssignedClaims = Annotated[
    list[ClaimId | AssignedClaim], Meta(min_length=1, max_length=MAX_ASSIGNED)
]
# A bare array of ids, or of objects with an id, is accepted too (CONTRACT 5). The document
# describes only the object, because Java clients that are generated from a union with an array do
# not compile.
AnyAssignmentRequest: Any = AssignmentRequest | AssignedClaims
FURTHER_ASSIGNMENT_BODIES = (
    "Instead of this object, the service also accepts a bare array of 1 to 1,000 claim ids, "
    '`[4711, 4712]`, or of objects with a `claimId`, `[{"claimId": 4711}]`.'
)


class TestClock(Wire, frozen=True):
    now: Annotated[Instant, Meta(description="The current time of the sandbox merchant.")]


class TestClockAdvance(WireInput, frozen=True):
    advance_to: Annotated[
        GivenInstant, Meta(description="The new time, later than the current one.")
    ]


class TestClockAdvanced(Wire, frozen=True):
    """The results of advancing the test clock."""

    now: Instant
    steps_run: int
    events_raised: int
