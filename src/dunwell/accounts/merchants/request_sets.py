"""Requests that arrive together share one piece of work, such as a statement and its commit. No
timer is involved: a set is gathered while the one before it is being answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import Refusal

Question = TypeVar("Question")


@dataclass(frozen=True, slots=True, eq=False)
class WaitingRequest(Generic[Question]):
    """One that waits. `size`: of the room a set has. `names`: what no two of a set may have in
    common. `kind`: those of another kind are answered in another set."""

    question: Question
    size: int = 1
    names: frozenset[str] = frozenset()
    kind: Hashable = None


Member = TypeVar("Member", bound=WaitingRequest)  # type: ignore[type-arg]


def split_next_set(line: Sequence[Member], room: int) -> tuple[list[Member], list[Member]]:
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


Answer = TypeVar("Answer")
# Answers one for one, in order.
AnswerSet: TypeAlias = Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Asker(WaitingRequest[Question]):
    answer: asyncio.Future[Any] = field(kw_only=True)


class Gathering(Generic[Question, Answer]):
    """What has been asked of one process and is not answered yet, in lines that do not wait for
    each other."""

    def __init__(self, answer_set: AnswerSet[Question, Answer], room: int) -> None:
        """`answer_set` is given at least one; it begins after each of them was asked. If it fails,
        each is answered alone, and may then have been answered before: it must find what it did.
        """
        self._answer_set = answer_set
        self._room = room
        self._lines: dict[Hashable, list[_Asker[Question]]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def ask(
        self, line: Hashable, question: Question, *, size: int = 1,
        names: frozenset[str] = frozenset(), kind: Hashable = None,
    ) -> Answer:  # fmt: skip
        """Raises what `answer_set` raises for this question alone. The rest as `WaitingRequest`
        says.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        asker = _Asker(question, size, names, kind, answer=future)
        if line in self._lines:
            self._lines[line].append(asker)
        else:
            self._lines[line] = [asker]
            # A task of its own: whoever asked may be cancelled, and the others not with them.
            task = asyncio.create_task(self._answer_line(line))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        return await future

    async def ask_alone(self, question: Question) -> Answer:
        """Beside all lines. What is not known to have failed is asked once more."""
        try:
            [answer] = await self._answer_set([question])
        except Exception as error:
            if not _is_in_doubt(error):
                raise
            [answer] = await self._answer_set([question])
        return answer

    async def _answer_line(self, line: Hashable) -> None:
        members: Sequence[_Asker[Question]] = ()
        try:
            while True:
                waiting = [each for each in self._lines[line] if not each.answer.done()]
                members, self._lines[line] = split_next_set(waiting, self._room)
                if not members:
                    break
                await self._answer_members(members)
        finally:
            # Nobody is left, unless this was cancelled.
            for each in (*members, *self._lines.pop(line)):
                each.answer.cancel()

    async def _answer_members(self, members: Sequence[_Asker[Question]]) -> None:
        try:
            answers = await self._answer_set([each.question for each in members])
        except Exception as error:  # noqa: BLE001 - it is raised for whoever asked
            if _is_in_doubt(error) or (len(members) > 1 and not isinstance(error, Refusal)):
                await asyncio.gather(*(self._answer_one(each) for each in members))
            else:
                for each in members:
                    _tell(each, error)
        else:
            for each, answer in zip(members, answers, strict=True):
                if not each.answer.done():
                    each.answer.set_result(answer)

    async def _answer_one(self, member: _Asker[Question]) -> None:
        try:
            [answer] = await self._answer_set([member.question])
        except Exception as error:  # noqa: BLE001 - as above
            _tell(member, error)
        else:
            if not member.answer.done():
                member.answer.set_result(answer)


def _is_in_doubt(error: Exception) -> bool:
    """Whether what failed may have been done all the same."""
    return isinstance(error, DatabaseAway) and error.was_sent


def _tell(member: _Asker[Question], error: Exception) -> None:
    if not member.answer.done():
        member.answer.set_exception(error)
