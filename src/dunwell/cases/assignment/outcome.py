"""What assigning answers (spec, Assignment result; Errors 3). Pure."""

from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Assignment:
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

    assigned: list[Assignment] = field(default_factory=list)
    failures: list[AssignmentFailure] = field(default_factory=list)
