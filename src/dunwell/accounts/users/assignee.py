"""Who has a piece of work: whether somebody can be given one, and of two who give it away at once
which comes first. Pure.
"""

from dataclasses import dataclass
from uuid import UUID

from dunwell.platform.errors import EditConflict, Fault, ValidationError


@dataclass(frozen=True, slots=True)
class Assignee:
    """`may_answer`: works here and may do it; whoever was ended, or lost the right, may not, and
    their work counts as nobody's."""

    user_id: UUID
    name: str
    may_answer: bool


@dataclass(frozen=True, slots=True)
class AssigneeFilter:
    """Whose work is asked for: one person's, nobody's, or (neither is said) everybody's."""

    user_id: UUID | None = None
    is_unassigned: bool = False


ANY_ASSIGNEE = AssigneeFilter()


def check_assignment(present: UUID | None, known: UUID | None, wanted: Assignee | None) -> bool:
    """Whether it changes anything. `known`: whose it was when it was looked at; `wanted`: none:
    nobody's from now on. Raises EditConflict, ValidationError."""
    if wanted is not None and not wanted.may_answer:
        raise build_assignee_error()
    if present == (None if wanted is None else wanted.user_id):
        return False
    if present != known:
        raise EditConflict("Somebody else has assigned it meanwhile.")
    return True


def build_assignee_error() -> ValidationError:
    message = "There is nobody of this id who may answer at this merchant."
    return ValidationError([Fault("/assignee", message, "NOT_ALLOWED")])
