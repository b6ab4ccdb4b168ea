"""Who is assigned to a piece of work: who can be assigned, and conflicts between two assignments.
Pure."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.platform.errors import EditConflict, Fault, ValidationError


@dataclass(frozen=True, slots=True)
class Assignee:
    """A user as assignee. `may_be_assigned` says whether the user is active and has the permission.
    Work of a user who lost it counts as unassigned."""

    user_id: UUID
    name: str
    may_be_assigned: bool


@dataclass(frozen=True, slots=True)
class AssigneeFilter:
    """A filter by assignee: one user, unassigned, or (neither is set) everything."""

    user_id: UUID | None = None
    is_unassigned: bool = False


ANY_ASSIGNEE = AssigneeFilter()


def check_assignment(present: UUID | None, known: UUID | None, wanted: Assignee | None) -> bool:
    """Return whether the assignment changes anything. `present` is the stored assignee, `known` the
    assignee that was shown to the user who assigns, and `wanted` the new assignee; with None, the
    assignment is removed. Raises EditConflict, ValidationError."""
    if wanted is not None and not wanted.may_be_assigned:
        raise build_assignee_error()
    if present == (None if wanted is None else wanted.user_id):
        return False
    if present != known:
        raise EditConflict("Another user has changed the assignee. Reload the page.")
    return True


def build_assignee_error() -> ValidationError:
    message = "No user with this id may be assigned at this merchant."
    return ValidationError([Fault("/assignee", message, "NOT_ALLOWED")])
