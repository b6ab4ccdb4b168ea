"""Decide which of the requested claims can be assigned to a workflow and why the others cannot, and
the result of an assignment (spec, Assignment result; Errors 3). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

ENDED = frozenset({"COLLECTED", "ARCHIVED", "WITHDRAWN"})


@dataclass(frozen=True, slots=True)
class AssignableClaim:
    """The facts of a claim that an assignment depends on."""

    claim_id: int
    status: str
    currency: str
    workflow_id: UUID | None
    first_primary_due_on: date | None


@dataclass(frozen=True, slots=True)
class AssignmentTarget:
    """The requested workflow, and what prevents a new assignment to it."""

    workflow_id: UUID
    # The only currency that the workflow accepts.
    currency: str
    obstacle: str | None = None
    # The merchant's term for a workflow: workflow or scenario.
    word: str = "workflow"


@dataclass(frozen=True, slots=True)
class AssignmentDecision:
    # The claims to start on the workflow.
    to_start: list[AssignableClaim] = field(default_factory=list)
    # Claim id -> why the claim cannot be assigned.
    failures: dict[int, str] = field(default_factory=dict)


def decide_assignment(
    claim_ids: Sequence[int], claims: Mapping[int, AssignableClaim], target: AssignmentTarget
) -> AssignmentDecision:
    """Decide about each claim. A claim that already runs on the workflow is neither started nor a
    failure."""
    decision = AssignmentDecision()
    for claim_id in dict.fromkeys(claim_ids):
        claim = claims.get(claim_id)
        message = _find_obstacle(claim, target)
        if message is not None:
            decision.failures[claim_id] = message
        elif claim is not None and claim.workflow_id != target.workflow_id:
            decision.to_start.append(claim)
    return decision


def _find_obstacle(claim: AssignableClaim | None, target: AssignmentTarget) -> str | None:
    if claim is None:
        return "There is no such claim."
    if claim.status in ENDED:
        return f"The claim has ended ({claim.status}); it cannot be assigned."
    if claim.workflow_id == target.workflow_id:
        return None
    if target.obstacle is not None:
        return target.obstacle
    if claim.currency != target.currency:
        return (
            f"The {target.word} accepts claims in {target.currency}; "
            f"this one is in {claim.currency}."
        )
    return None


@dataclass(frozen=True, slots=True)
class AssignedWorkflow:
    """The workflow on which a claim runs, or None if it is unassigned."""

    claim_id: int
    workflow_id: UUID | None


@dataclass(frozen=True, slots=True)
class AssignmentFailure:
    claim_id: int
    message: str


@dataclass(frozen=True, slots=True)
class AssignmentOutcome:
    """Both lists are in the order of the request. With any failure, the response is an error."""

    assigned: list[AssignedWorkflow] = field(default_factory=list)
    failures: list[AssignmentFailure] = field(default_factory=list)
