"""Requests that arrive together are answered together, each as if it were alone."""

import asyncio
from collections.abc import Sequence

import pytest

from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.request_batcher import RequestBatcher


class ScriptedAnswers:
    """Answers each question in capitals when it is allowed to, and records the batches."""

    def __init__(self) -> None:
        self.batches: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        # The errors to raise for a batch that contains the question, in this order.
        self.faults: dict[str, list[Exception]] = {}
        self.batcher: RequestBatcher[str, str] = RequestBatcher(self._answer, room=10)

    async def _answer(self, questions: Sequence[str]) -> Sequence[str]:
        self.batches.append("".join(questions))
        await self.may_answer.wait()
        for each in questions:
            if self.faults.get(each):
                raise self.faults[each].pop()
        return [each.upper() for each in questions]

    def ask(self, question: str, line: str = "", **given: object) -> asyncio.Task[str]:
        return asyncio.create_task(self.batcher.ask(line, question, **given))  # type: ignore[arg-type]


async def pause() -> None:
    """Wait until every task has run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_that_arrive_during_a_batch_form_the_next_one() -> None:
    scripted = ScriptedAnswers()
    scripted.may_answer.clear()
    first = scripted.ask("a")
    await pause()
    others = [scripted.ask(each) for each in "bcd"]
    await pause()
    assert scripted.batches == ["a"]

    scripted.may_answer.set()

    assert [await each for each in (first, *others)] == ["A", "B", "C", "D"]
    assert scripted.batches == ["a", "bcd"]


async def test_a_request_without_others_is_answered_at_once() -> None:
    scripted = ScriptedAnswers()
    for each in "ab":
        assert await scripted.ask(each) == each.upper()
    assert scripted.batches == ["a", "b"]


async def test_queues_do_not_wait_for_each_other() -> None:
    scripted = ScriptedAnswers()
    scripted.may_answer.clear()
    asked = [scripted.ask("a", line="one"), scripted.ask("b", line="two")]
    await pause()
    assert sorted(scripted.batches) == ["a", "b"]
    scripted.may_answer.set()
    assert await asyncio.gather(*asked) == ["A", "B"]


async def test_two_requests_for_the_same_name_are_answered_in_separate_batches() -> None:
    scripted = ScriptedAnswers()
    asked = [scripted.ask(each, names=frozenset({"x"})) for each in "ab"]
    assert await asyncio.gather(*asked) == ["A", "B"]
    assert scripted.batches == ["a", "b"]


async def test_a_failed_batch_is_answered_one_by_one_and_only_the_faulty_request_fails() -> None:
    scripted = ScriptedAnswers()
    scripted.faults["b"] = [ValueError("again"), ValueError("b")]

    answers = await asyncio.gather(*map(scripted.ask, "abc"), return_exceptions=True)

    assert scripted.batches == ["abc", "a", "b", "c"]
    assert [answers[0], answers[2]] == ["A", "C"]
    assert isinstance(answers[1], ValueError)


async def test_a_refusal_of_a_whole_batch_is_not_retried() -> None:
    scripted = ScriptedAnswers()
    scripted.faults["a"] = [InvalidRequest("no")]
    answers = await asyncio.gather(*map(scripted.ask, "ab"), return_exceptions=True)
    assert scripted.batches == ["ab"]
    assert [str(each) for each in answers] == ["no", "no"]


@pytest.mark.parametrize(("was_sent", "sets"), [(True, ["a", "a"]), (False, ["a"])])
async def test_a_batch_is_retried_only_if_it_may_have_been_committed(
    was_sent: bool, sets: list[str]
) -> None:
    for is_alone in (False, True):
        scripted = ScriptedAnswers()
        scripted.faults["a"] = [DatabaseAway("away", was_sent=was_sent)]
        asking = scripted.batcher.answer_alone("a") if is_alone else scripted.batcher.ask("", "a")
        if was_sent:
            assert await asking == "A"
        else:
            with pytest.raises(DatabaseAway):
                await asking
        assert scripted.batches == sets


async def test_a_cancelled_request_is_left_out_of_its_batch() -> None:
    scripted = ScriptedAnswers()
    scripted.may_answer.clear()
    first = scripted.ask("a")
    await pause()
    gone, stays = scripted.ask("b"), scripted.ask("c")
    await pause()
    for each in (first, gone):
        each.cancel()
    await pause()
    scripted.may_answer.set()
    assert await stays == "C"
    assert scripted.batches == ["a", "c"]
