"""Which of the requests that wait are answered together: one kind, so much and no more, and
nothing that two of them name. Pure."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Question = TypeVar("Question")


@dataclass(frozen=True, slots=True, eq=False)
class Waiting(Generic[Question]):
    """One that waits. `size`: of the room a set has. `names`: what no two of a set may have in
    common. `kind`: those of another kind are answered in another set."""

    question: Question
    size: int = 1
    names: frozenset[str] = frozenset()
    kind: Hashable = None


Member = TypeVar("Member", bound=Waiting)  # type: ignore[type-arg]


def take_set(line: Sequence[Member], room: int) -> tuple[list[Member], list[Member]]:
    """The next set, and those who go on waiting, both in the order in which they came.

    The first is always taken, so that nobody waits for ever; who names what somebody before them
    names, taken or not, comes after them.
    """
    taken: list[Member] = []
    left: list[Member] = []
    named: set[str] = set()
    for each in line:
        is_fitting = not taken or (each.kind == taken[0].kind and each.size <= room)
        if is_fitting and named.isdisjoint(each.names):
            taken.append(each)
            room -= each.size
        else:
            left.append(each)
        named |= each.names
    return taken, left
