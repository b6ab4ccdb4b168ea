"""The changes in a draft, each with its author: what a person changes of one part in a row is one
change, from what stood there before to what stands there. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class DraftChange:
    """before, after: the part as JSON; None: it was not there, or is not any more."""

    change_id: UUID
    # As the audit log names who acts; name: of a person.
    actor_kind: str
    actor_id: str | None
    name: str | None
    changed_at: datetime
    part: str
    before: Any
    after: Any

    def is_of(self, kind: str, actor_id: str | None) -> bool:
        return (self.actor_kind, self.actor_id) == (kind, actor_id)


@dataclass(frozen=True, slots=True)
class NewChange:
    part: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of the changes there are by one author's doing: some are gone, others come."""

    actor_kind: str
    actor_id: str | None
    gone: list[UUID]
    new: list[NewChange]


def merge_changes(
    standing: Sequence[DraftChange], kind: str, actor_id: str | None,
    before: Mapping[str, Any], after: Mapping[str, Any],
) -> Merged:  # fmt: skip
    """standing: the draft's changes, oldest first. before, after: the parts that differ, by name.

    Whoever was the last to change a part goes on with that change; taken back, it is none.
    """
    last = {each.part: each for each in standing}
    merged = Merged(kind, actor_id, [], [])
    for part in {**before, **after}:
        known, first, now = last.get(part), before.get(part), after.get(part)
        if known is not None and known.is_of(kind, actor_id):
            merged.gone.append(known.change_id)
            first = known.before
        if first != now:
            merged.new.append(NewChange(part, first, now))
    return merged


def find_last_change(changes: Sequence[DraftChange], part: str) -> DraftChange | None:
    return next((each for each in reversed(changes) if each.part == part), None)


@dataclass(frozen=True, slots=True)
class Ticks:
    """What somebody who publishes has looked at: the changes that were shown, and of those of
    colleagues the ones that are to go out."""

    seen: frozenset[UUID]
    agreed: frozenset[UUID]

    def find_new(self, changes: Sequence[DraftChange]) -> list[DraftChange]:
        """Those that came since."""
        return [each for each in changes if each.change_id not in self.seen]

    def find_open(
        self, changes: Sequence[DraftChange], kind: str, actor_id: str | None
    ) -> list[DraftChange]:
        """Colleagues' without a tick."""
        return [
            each
            for each in changes
            if each.change_id not in self.agreed and not each.is_of(kind, actor_id)
        ]
