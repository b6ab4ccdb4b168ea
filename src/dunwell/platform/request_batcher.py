"""Answer concurrent requests in batches, which share one statement and its commit. There is no
timer: a batch forms while the previous one is being answered."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import Refusal

Question = TypeVar("Question")


@dataclass(frozen=True, slots=True, eq=False)
class WaitingRequest(Generic[Question]):
    """A waiting request, which takes `size` of a batch's room. Requests with a common name in
    `names` are never in the same batch. All requests of a batch have the same `kind`."""

    question: Question
    size: int = 1
    names: frozenset[str] = frozenset()
    kind: Hashable = None


Member = TypeVar("Member", bound=WaitingRequest)  # type: ignore[type-arg]


def split_next_batch(queue: Sequence[Member], room: int) -> tuple[list[Member], list[Member]]:
    """Return the next batch and the requests that keep waiting, both in order of arrival.

    The first request is always taken, so that none waits for ever. A request that shares a name
    with an earlier one, taken or not, is answered after it.
    """
    taken: list[Member] = []
    left: list[Member] = []
    earlier_names: set[str] = set()
    for request in queue:
        is_fitting = not taken or (request.kind == taken[0].kind and request.size <= room)
        if is_fitting and earlier_names.isdisjoint(request.names):
            taken.append(request)
            room -= request.size
        else:
            left.append(request)
        earlier_names |= request.names
    return taken, left


Answer = TypeVar("Answer")
# Returns one answer for each question, in order.
AnswerBatch: TypeAlias = Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]


@dataclass(frozen=True, slots=True, eq=False)
class _PendingRequest(WaitingRequest[Question]):
    answer: asyncio.Future[Any] = field(kw_only=True)


class RequestBatcher(Generic[Question, Answer]):
    """The waiting requests of one process. Its queues are answered independently of each other."""

    def __init__(self, answer_questions: AnswerBatch[Question, Answer], room: int) -> None:
        """`answer_questions` gets at least one question. If it fails, each question is answered
        alone; a Refusal is instead raised for all of them, unless the work may have been committed.
        The failed call may have answered a question already; `answer_questions` must detect
        that."""
        self._answer_questions = answer_questions
        self._room = room
        self._queues: dict[Hashable, list[_PendingRequest[Question]]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def ask(
        self, queue: Hashable, question: Question, *, size: int = 1,
        names: frozenset[str] = frozenset(), kind: Hashable = None,
    ) -> Answer:  # fmt: skip
        """Return the answer to the question. Raises what `answer_questions` raises for this
        question alone, or its Refusal of the batch with this question. The options are those of
        `WaitingRequest`."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        pending = _PendingRequest(question, size, names, kind, answer=future)
        if queue in self._queues:
            self._queues[queue].append(pending)
        else:
            self._queues[queue] = [pending]
            # A separate task, so that the cancellation of one request does not cancel the others.
            task = asyncio.create_task(self._answer_queue(queue))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        return await future

    async def answer_alone(self, question: Question) -> Answer:
        """Answer the question outside all queues, and try once more if it is unknown whether the
        first attempt succeeded."""
        try:
            [answer] = await self._answer_questions([question])
        except Exception as error:
            if not _is_in_doubt(error):
                raise
            [answer] = await self._answer_questions([question])
        return answer

    async def _answer_queue(self, queue: Hashable) -> None:
        batch: Sequence[_PendingRequest[Question]] = ()
        try:
            while True:
                waiting = [request for request in self._queues[queue] if not request.answer.done()]
                batch, self._queues[queue] = split_next_batch(waiting, self._room)
                if not batch:
                    break
                await self._answer_batch(batch)
        finally:
            # Requests are left only if the task was cancelled.
            for request in (*batch, *self._queues.pop(queue)):
                request.answer.cancel()

    async def _answer_batch(self, batch: Sequence[_PendingRequest[Question]]) -> None:
        try:
            answers = await self._answer_questions([request.question for request in batch])
        except Exception as error:  # noqa: BLE001 - raised again for each waiting request
            if _is_in_doubt(error) or (len(batch) > 1 and not isinstance(error, Refusal)):
                await asyncio.gather(*(self._answer_one(request) for request in batch))
            else:
                for request in batch:
                    _set_error(request, error)
        else:
            for request, answer in zip(batch, answers, strict=True):
                if not request.answer.done():
                    request.answer.set_result(answer)

    async def _answer_one(self, request: _PendingRequest[Question]) -> None:
        try:
            [answer] = await self._answer_questions([request.question])
        except Exception as error:  # noqa: BLE001 - raised again for the waiting request
            _set_error(request, error)
        else:
            if not request.answer.done():
                request.answer.set_result(answer)


def _is_in_doubt(error: Exception) -> bool:
    """Return whether the failed work may have been committed."""
    return isinstance(error, DatabaseAway) and error.was_sent


def _set_error(request: _PendingRequest[Question], error: Exception) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
