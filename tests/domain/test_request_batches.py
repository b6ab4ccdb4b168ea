"""Requests that arrive together are answered together, each as if it were alone."""

import asyncio
from collections.abc import Sequence

import pytest

from dunwell.accounts.merchants.request_sets import RequestBatcher
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import InvalidRequest


class Desk:
    """Answers each question in capitals when it is allowed to, and records the batches."""

    def __init__(self) -> None:
        self.sets: list[str] = []
        self.open = asyncio.Event()
        self.open.set()
        # The errors to raise for a batch that contains the question, in this order.
        self.faults: dict[str, list[Exception]] = {}
        self.gathering: RequestBatcher[str, str] = RequestBatcher(self._answer, room=10)

    async def _answer(self, questions: Sequence[str]) -> Sequence[str]:
        self.sets.append("".join(questions))
        await self.open.wait()
        for each in questions:
            if self.faults.get(each):
                raise self.faults[each].pop()
        return [each.upper() for each in questions]

    def ask(self, question: str, line: str = "", **given: object) -> asyncio.Task[str]:
        return asyncio.create_task(self.gathering.ask(line, question, **given))  # type: ignore[arg-type]


async def pause() -> None:
    """Wait until every task has run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_that_arrive_during_a_batch_form_the_next_one() -> None:
    desk = Desk()
    desk.open.clear()
    first = desk.ask("a")
    await pause()
    others = [desk.ask(each) for each in "bcd"]
    await pause()
    assert desk.sets == ["a"]

    desk.open.set()

    assert [await each for each in (first, *others)] == ["A", "B", "C", "D"]
    assert desk.sets == ["a", "bcd"]


async def test_a_request_without_others_is_answered_at_once() -> None:
    desk = Desk()
    for each in "ab":
        assert await desk.ask(each) == each.upper()
    assert desk.sets == ["a", "b"]


async def test_queues_do_not_wait_for_each_other() -> None:
    desk = Desk()
    desk.open.clear()
    asked = [desk.ask("a", line="one"), desk.ask("b", line="two")]
    await pause()
    assert sorted(desk.sets) == ["a", "b"]
    desk.open.set()
    assert await asyncio.gather(*asked) == ["A", "B"]


async def test_two_requests_for_the_same_name_are_answered_in_separate_batches() -> None:
    desk = Desk()
    asked = [desk.ask(each, names=frozenset({"x"})) for each in "ab"]
    assert await asyncio.gather(*asked) == ["A", "B"]
    assert desk.sets == ["a", "b"]


async def test_a_set_that_fails_is_answered_one_by_one_and_the_fault_stays_its_own() -> None:
    desk = Desk()
    desk.faults["b"] = [ValueError("again"), ValueError("b")]

    answers = await asyncio.gather(*map(desk.ask, "abc"), return_exceptions=True)

    assert desk.sets == ["abc", "a", "b", "c"]
    assert [answers[0], answers[2]] == ["A", "C"]
    assert isinstance(answers[1], ValueError)


async def test_a_refusal_of_a_whole_batch_is_not_retried() -> None:
    desk = Desk()
    desk.faults["a"] = [InvalidRequest("no")]
    answers = await asyncio.gather(*map(desk.ask, "ab"), return_exceptions=True)
    assert desk.sets == ["ab"]
    assert [str(each) for each in answers] == ["no", "no"]


@pytest.mark.parametrize(("was_sent", "sets"), [(True, ["a", "a"]), (False, ["a"])])
async def test_a_batch_that_may_have_been_committed_is_asked_once_more(
    was_sent: bool, sets: list[str]
) -> None:
    for is_alone in (False, True):
        desk = Desk()
        desk.faults["a"] = [DatabaseAway("away", was_sent=was_sent)]
        asking = desk.gathering.answer_alone("a") if is_alone else desk.gathering.ask("", "a")
        if was_sent:
            assert await asking == "A"
        else:
            with pytest.raises(DatabaseAway):
                await asking
        assert desk.sets == sets


async def test_a_cancelled_request_is_left_out_of_its_batch() -> None:
    desk = Desk()
    desk.open.clear()
    first = desk.ask("a")
    await pause()
    gone, stays = desk.ask("b"), desk.ask("c")
    await pause()
    for each in (first, gone):
        each.cancel()
    await pause()
    desk.open.set()
    assert await stays == "C"
    assert desk.sets == ["a", "c"]
