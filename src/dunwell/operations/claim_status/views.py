"""The explanation of a claim in the form of the API and the command line (CONTRACT 5), with an
example, and the stored values that it is built from. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.text.wire import Instant, Uuid, Wire

StepKind = Literal["COMMUNICATION", "WAIT", "FEE", "CHECKPOINT", "ARCHIVE"]
StepOutcome = Literal["DONE", "SKIPPED", "FAILED"]
ContactState = Literal["PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "UNKNOWN"]
HeldBy = Literal["GUARD_DAY", "GUARD_WEEK", "QUIET_HOURS", "CONTACT_HOURS", "PERSON_DIED"]
Reason = Annotated[str, Meta(description="A sentence for people.")]


class ExplainedAssignment(Wire, frozen=True):
    """The workflow of the claim, and whether assignment rules chose it."""

    name: str
    version: Annotated[str | None, Meta(description="The version that the next step would use.")]
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
    unmet: Annotated[tuple[str, ...], Meta(description="The conditions that do not match.")]
    reason: Reason


class ExplainedRules(Wire, frozen=True):
    """The result of the assignment rules for the claim as it is now."""

    version: Annotated[int | None, Meta(description="null: no rules were ever published.")]
    rules: tuple[ExplainedRule, ...]
    default: Annotated[
        str | None, Meta(description=("The result of the default; null: there is no default."))
    ]
    chosen: Annotated[str | None, Meta(description="The name of the chosen workflow or scenario.")]


class ExplainedStep(Wire, frozen=True):
    """The outcome of a step."""

    step_id: Annotated[int, Meta(description="0: the archiving after the last step.")]
    name: str
    outcome: StepOutcome
    at: Instant
    version: str | None
    reason: Reason


class ExplainedNextStep(Wire, frozen=True):
    step_id: Annotated[int | None, Meta(description="null: the archiving after the last step.")]
    name: str
    kind: StepKind
    at: Annotated[
        Instant | None, Meta(description="null: it depends on a hold, a channel or a user.")
    ]
    outcome: Annotated[
        Literal["RUN", "SKIPPED"],
        Meta(description=("Whether the step would run or be skipped if nothing changed.")),
    ]
    unmet: Annotated[tuple[str, ...], Meta(description="Its conditions that do not match.")]
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
    """The unfinished contact for which the claim waits."""

    reference: Uuid
    channel: Channel
    state: ContactState
    held_by: HeldBy | None
    until: Instant | None
    reason: Reason


class ExplainedNextContact(Wire, frozen=True):
    at: Instant
    channel: Channel
    step_id: int
    name: str


_Explained = TypeVar(
    "_Explained", ExplainedStep, ExplainedNextStep, ExplainedHold, ExplainedContact
)


class ClaimExplanation(Wire, frozen=True):
    """Why a claim has its status."""

    claim_id: int
    status: Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]
    assignment: ExplainedAssignment | None
    rules: ExplainedRules
    history: tuple[ExplainedStep, ...]
    next_step: ExplainedNextStep | None
    reason: Annotated[str, Meta(description="Why there is no next step; empty if there is one.")]
    holds: tuple[ExplainedHold, ...]
    contact: ExplainedContact | None
    next_contacts: Annotated[
        tuple[ExplainedNextContact, ...],
        Meta(description="At most five, if nothing is paid and every channel accepts."),
    ]


def render_explanation(explanation: ClaimExplanation) -> ClaimExplanation:
    """Return the explanation with its reasons as plain English strings."""

    def with_plain_reason(each: _Explained) -> _Explained:
        return replace(each, reason=str(each.reason))

    return replace(
        explanation,
        reason=str(explanation.reason),
        history=tuple(with_plain_reason(each) for each in explanation.history),
        next_step=None
        if explanation.next_step is None
        else with_plain_reason(explanation.next_step),
        holds=tuple(with_plain_reason(each) for each in explanation.holds),
        contact=None if explanation.contact is None else with_plain_reason(explanation.contact),
    )


def _build_done_example(step_id: int, name: str, at: str, reason: str = "done") -> ExplainedStep:
    return ExplainedStep(
        step_id=step_id, name=name, outcome="DONE", at=at, version="v1.0", reason=reason
    )


EXAMPLE = ClaimExplanation(
    claim_id=4711,
    status="IN_PROCESS",
    assignment=ExplainedAssignment(
        "Standard dunning", "v1.0", 3, workflow_id="0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"
    ),
    rules=ExplainedRules(
        version=3,
        rules=(
            ExplainedRule("Large claims", "UNMET", ("outstanding",), "does not match: outstanding"),
        ),
        default="taken",
        chosen="Standard dunning",
    ),
    history=(
        _build_done_example(1, "First reminder", "2026-03-02T09:00:00.000Z", "sent by EMAIL"),
        _build_done_example(2, "Wait a week", "2026-03-02T09:00:00.000Z", "started"),
        _build_done_example(3, "Dunning fee", "2026-03-09T09:00:00.000Z"),
        _build_done_example(4, "Ask the ERP", "2026-03-09T09:00:00.000Z"),
        _build_done_example(5, "Last wait", "2026-03-09T09:00:00.000Z", "started"),
    ),
    next_step=ExplainedNextStep(
        step_id=6,
        name="Last reminder",
        kind="COMMUNICATION",
        at="2026-03-23T09:00:00.000Z",
        outcome="RUN",
        unmet=(),
        reason='The wait "Last wait" ends at this time.',
    ),
    reason="",
    holds=(),
    contact=None,
    next_contacts=(ExplainedNextContact("2026-03-23T09:00:01.000Z", "EMAIL", 6, "Last reminder"),),
)


@dataclass(frozen=True, slots=True)
class ClaimState:
    """The stored status and assignment of a claim."""

    claim_id: int
    status: str
    held: bool
    run: int
    next_step_id: int | None
    due_at: datetime | None
    # The version of the published rules that chose the workflow. None if it was assigned directly,
    # or if none is assigned.
    rules_version: int | None
    workflow_id: UUID | None
    workflow_major: int | None
    workflow_name: str | None
    scenario_id: int | None


@dataclass(frozen=True, slots=True)
class PastStep:
    # 0 for the archiving after the last step.
    step_id: int
    outcome: StepOutcome
    reason: str | None
    at: datetime
    version: str | None


@dataclass(frozen=True, slots=True)
class StoredOpenContact:
    communication_id: UUID
    step_id: int
    place: int
    channel: Channel
    state: ContactState
    not_before: datetime
    held_by: HeldBy | None
