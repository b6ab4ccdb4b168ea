"""Which of the claims asked for can be assigned to a workflow, and why the others cannot. Pure."""

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
class Target:
    """The workflow asked for: its id, and what keeps claims from being newly assigned to it."""

    workflow_id: UUID
    # The only currency it takes.
    currency: str
    obstacle: str | None = None
    # What the merchant calls it.
    word: str = "workflow"


@dataclass(frozen=True, slots=True)
class Decision:
    # To be put on the workflow now.
    to_start: list[AssignableClaim] = field(default_factory=list)
    # Claim id -> why not.
    failures: dict[int, str] = field(default_factory=dict)


def decide_assignment(
    claim_ids: Sequence[int], found: Mapping[int, AssignableClaim], target: Target
) -> Decision:
    """What becomes of each claim; one that runs on the workflow already is in neither list."""
    decision = Decision()
    for claim_id in dict.fromkeys(claim_ids):
        claim = found.get(claim_id)
        message = _find_obstacle(claim, target)
        if message is not None:
            decision.failures[claim_id] = message
        elif claim is not None and claim.workflow_id != target.workflow_id:
            decision.to_start.append(claim)
    return decision


def _find_obstacle(claim: AssignableClaim | None, target: Target) -> str | None:
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
