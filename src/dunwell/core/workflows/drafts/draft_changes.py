"""The changes of a draft with their authors. Consecutive changes of one part by one author are
merged into one change. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class DraftChange:
    """A change of one part. `before` and `after` are the part as JSON, or None if it does not
    exist."""

    change_id: UUID
    # The author as the audit log identifies the actor. `name` is the user's name, None for other
    # actors.
    actor_kind: str
    actor_id: str | None
    name: str | None
    changed_at: datetime
    part: str
    before: Any
    after: Any

    def is_by(self, kind: str, actor_id: str | None) -> bool:
        return (self.actor_kind, self.actor_id) == (kind, actor_id)


@dataclass(frozen=True, slots=True)
class NewChange:
    part: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class MergedChanges:
    """The result of merging: which changes to delete, and which to insert for the author."""

    actor_kind: str
    actor_id: str | None
    deleted: list[UUID]
    new: list[NewChange]


def merge_changes(
    existing: Sequence[DraftChange], kind: str, actor_id: str | None,
    before: Mapping[str, Any], after: Mapping[str, Any],
) -> MergedChanges:  # fmt: skip
    """Merge an author's new changes into those of the draft.

    `existing` has the draft's changes, oldest first. `before` and `after` have the changed parts by
    name. If the author also made the part's last change, the two become one change; if that
    restores the earlier state, no change remains.
    """
    last_by_part = {each.part: each for each in existing}
    merged = MergedChanges(kind, actor_id, [], [])
    for part in {**before, **after}:
        last_change, earlier, later = last_by_part.get(part), before.get(part), after.get(part)
        if last_change is not None and last_change.is_by(kind, actor_id):
            merged.deleted.append(last_change.change_id)
            earlier = last_change.before
        if earlier != later:
            merged.new.append(NewChange(part, earlier, later))
    return merged


def find_last_change(changes: Sequence[DraftChange], part: str) -> DraftChange | None:
    return next((each for each in reversed(changes) if each.part == part), None)


@dataclass(frozen=True, slots=True)
class ReviewedChanges:
    """What a user who publishes has reviewed: the changes that were shown, and the colleagues'
    changes that were approved."""

    shown: frozenset[UUID]
    approved: frozenset[UUID]

    def list_new(self, changes: Sequence[DraftChange]) -> list[DraftChange]:
        """Return the changes that were made after the page was shown."""
        return [each for each in changes if each.change_id not in self.shown]

    def list_unapproved(
        self, changes: Sequence[DraftChange], kind: str, actor_id: str | None
    ) -> list[DraftChange]:
        """Return the colleagues' changes that were not approved."""
        return [
            each
            for each in changes
            if each.change_id not in self.approved and not each.is_by(kind, actor_id)
        ]
