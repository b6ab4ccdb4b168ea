"""Which of the requested claims can be assigned to a workflow, why the others cannot, and what
assigning answers (spec, Assignment result; Errors 3). Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

ENDED = frozenset({"COLLECTED", "ARCHIVED", "WITHDRAWN"})


@dataclass(frozen=True, slots=True)
class AssignableClaim:
    """What assigning asks of a claim."""

    claim_id: int
    status: str
    currency: str
    workflow_id: UUID | None
    first_primary_due_on: date | None


@dataclass(frozen=True, slots=True)
class AssignmentTarget:
    """The workflow asked for: its id, and what keeps claims from being newly assigned to it."""

    workflow_id: UUID
    # The only currency it takes.
    currency: str
    obstacle: str | None = None
    # What the merchant calls it.
    word: str = "workflow"


@dataclass(frozen=True, slots=True)
class AssignmentDecision:
    # To be put on the workflow now.
    to_start: list[AssignableClaim] = field(default_factory=list)
    # Claim id -> why not.
    failures: dict[int, str] = field(default_factory=dict)


def decide_assignment(
    claim_ids: Sequence[int], found: Mapping[int, AssignableClaim], target: AssignmentTarget
) -> AssignmentDecision:
    """What becomes of each claim; one that runs on the workflow already is in neither list."""
    decision = AssignmentDecision()
    for claim_id in dict.fromkeys(claim_ids):
        claim = found.get(claim_id)
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
        takes = f"The {target.word} takes claims in {target.currency}"
        return f"{takes}; this one is in {claim.currency}."
    return None


@dataclass(frozen=True, slots=True)
class AssignedWorkflow:
    """The workflow a claim runs on; none: it stays unassigned."""

    claim_id: int
    workflow_id: UUID | None


@dataclass(frozen=True, slots=True)
class AssignmentFailure:
    claim_id: int
    message: str


@dataclass(frozen=True, slots=True)
class AssignmentOutcome:
    """Both in the order the claims were given in. Any failure makes the answer an error."""

    assigned: list[AssignedWorkflow] = field(default_factory=list)
    failures: list[AssignmentFailure] = field(default_factory=list)
