"""An explanation on the wire (CONTRACT 5)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from dunwell.api.schemas.wire import Instant, Uuid, Wire

ChannelName = Literal["EMAIL", "SMS", "LETTER"]
Reason = Annotated[str, Meta(description="In words, for a person.")]


class ExplainedAssignment(Wire, frozen=True):
    """The process the claim runs, and whether rules chose it."""

    name: str
    version: Annotated[str | None, Meta(description="What the next step would use.")]
    rules_version: Annotated[
        int | None, Meta(description="The rules that chose it; null: it was assigned directly.")
    ]
    scenario_id: int | UnsetType = UNSET
    workflow_id: Uuid | UnsetType = UNSET


class ExplainedRule(Wire, frozen=True):
    name: str
    outcome: Literal[
        "MATCHED", "INACTIVE", "UNMET", "SKIPPED_DEACTIVATED", "SKIPPED_DELETED",
        "SKIPPED_UNPUBLISHED", "SKIPPED_CURRENCY", "NOT_REACHED",
    ]  # fmt: skip
    unmet: Annotated[list[str], Meta(description="The conditions that do not hold.")]
    reason: Reason


class ExplainedRules(Wire, frozen=True):
    """What the assignment rules say of the claim as it stands now."""

    version: Annotated[int | None, Meta(description="null: no rules were ever published.")]
    rules: list[ExplainedRule]
    default: Annotated[str | None, Meta(description="What became of the default; null: none.")]
    chosen: Annotated[str | None, Meta(description="What they choose, by name.")]


class ExplainedStep(Wire, frozen=True):
    """What became of a step."""

    step_id: Annotated[int, Meta(description="0: the archiving after the last step.")]
    name: str
    outcome: Literal["DONE", "SKIPPED", "FAILED"]
    at: Instant
    version: str | None
    reason: Reason


class ExplainedNextStep(Wire, frozen=True):
    step_id: Annotated[int | None, Meta(description="null: the archiving after the last step.")]
    name: str
    kind: Literal["COMMUNICATION", "WAIT", "FEE", "CHECKPOINT", "ARCHIVE"]
    at: Annotated[
        Instant | None, Meta(description="null: it depends on a hold, a channel or a person.")
    ]
    outcome: Annotated[
        Literal["RUN", "SKIPPED"], Meta(description="What it would do as things stand.")
    ]
    unmet: Annotated[list[str], Meta(description="Its conditions that do not hold.")]
    reason: Reason


class ExplainedHold(Wire, frozen=True):
    kind: Literal[
        "DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING"
    ]  # fmt: skip
    since: Instant
    until: Instant | None
    by: str
    reason: Reason


class ExplainedContact(Wire, frozen=True):
    """The contact the claim stands still for."""

    reference: Uuid
    channel: ChannelName
    state: Literal["PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "UNKNOWN"]
    held_by: Literal["GUARD_DAY", "GUARD_WEEK", "QUIET_HOURS", "CONTACT_HOURS"] | None
    until: Instant | None
    reason: Reason


class ExplainedNextContact(Wire, frozen=True):
    at: Instant
    channel: ChannelName
    step_id: int
    name: str


class ClaimExplanation(Wire, frozen=True):
    """Why a claim stands where it stands."""

    claim_id: int
    status: Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]
    assignment: ExplainedAssignment | None
    rules: ExplainedRules
    history: list[ExplainedStep]
    next_step: ExplainedNextStep | None
    reason: Annotated[str, Meta(description="Why no step comes next; empty where one does.")]
    holds: list[ExplainedHold]
    contact: ExplainedContact | None
    next_contacts: Annotated[
        list[ExplainedNextContact],
        Meta(description="At most five, if nothing is paid and every channel accepts."),
    ]
