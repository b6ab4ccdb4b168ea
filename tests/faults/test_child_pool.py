"""A pool of children can be closed at any moment. Closing ends soon and leaves neither a waiting
request nor a child."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import TypeAlias

import pytest
import uvloop

from dunwell.platform.children.child_pool import ChildLost, ChildPool, ChildProcess
from dunwell.platform.children.fair_queue import INTERACTIVE
from dunwell.platform.errors import Unavailable
from tests.support.children import find_children

Run: TypeAlias = Callable[[Callable[[], Coroutine[object, object, None]]], None]

# A child that reads each request and then does what the program says.
_PROGRAM = """
import struct, sys, time
requests, answers = sys.stdin.buffer, sys.stdout.buffer
while head := requests.read(4):
    requests.read(struct.unpack("!I", head)[0])
    {act}
    answers.flush()
"""
_ANSWERS = 'answers.write(struct.pack("!I", 2) + b"ok")'
_STALLS = "time.sleep(600)"
_STOPS_HALFWAY = 'answers.write(struct.pack("!I", 10**7) + bytes(5 * 10**6)); time.sleep(600)'
_ANSWERS_TOO_MUCH = 'answers.write(struct.pack("!I", 2 * 10**7) + bytes(2 * 10**7))'
_NAME = "child_of_test_child_pool"
_TIMEOUT_SECONDS = 1.0
# Much longer than the test needs, and much shorter than forever.
_SOON_SECONDS = 20.0


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a test in a new event loop, of the kind that commands or services use."""

    async def run_bounded(test: Callable[[], Coroutine[object, object, None]]) -> None:
        async with asyncio.timeout(_SOON_SECONDS):
            await test()
            await _wait_until_no_child()

    def run_test(test: Callable[[], Coroutine[object, object, None]]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(run_bounded(test))

    return run_test


async def _wait_until_no_child() -> None:
    """Wait until every child has ended. A killed child takes a moment to end."""
    while find_children(_NAME):  # noqa: ASYNC110 - no event signals this
        await asyncio.sleep(0.01)


def _command(act: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", _PROGRAM.format(act=act), _NAME)


def _open_pool(act: str, size: int = 2) -> ChildPool:
    pool = ChildPool(
        "unused", size=size, timeout_seconds=_TIMEOUT_SECONDS, max_answer_bytes=10**7,
        limits=INTERACTIVE,
    )  # fmt: skip
    pool._command = _command(act)
    return pool


def test_closing_ends_running_and_waiting_requests_and_leaves_no_child(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_STALLS)
        asked = [asyncio.create_task(pool.ask(b"x", key=each % 5)) for each in range(40)]
        while len(find_children(_NAME)) < 2:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.01)
        started_at = monotonic()

        closing = asyncio.create_task(pool.close())
        await asyncio.sleep(0.05)
        # Waiting requests are refused at once, even if running ones take longer.
        assert sum(each.done() for each in asked) == 38
        await closing

        assert monotonic() - started_at < 5 * _TIMEOUT_SECONDS
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert len([each for each in outcomes if isinstance(each, ChildLost)]) <= 2
        assert all(isinstance(each, ChildLost | Unavailable) for each in outcomes), outcomes
        with pytest.raises(Unavailable):
            await pool.ask(b"x")

    run(test)


def test_closing_at_once_starts_no_child_afterwards(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_ANSWERS)
        asked = [asyncio.create_task(pool.ask(b"x", key=each)) for each in range(5)]
        await asyncio.sleep(0)

        await pool.close()

        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        # Two requests already had a child and are answered.
        assert [each for each in outcomes if not isinstance(each, Unavailable)] == [b"ok"] * 2

    run(test)


def test_closing_does_not_wait_for_a_request_that_is_never_read(run: Run) -> None:
    async def test() -> None:
        async def read() -> bytes:
            await asyncio.sleep(600)
            return b""

        pool = _open_pool(_ANSWERS)
        asked = asyncio.create_task(pool.ask(read))
        await asyncio.sleep(0.01)

        await pool.close()

        with pytest.raises(Unavailable):
            await asked

    run(test)


def test_closing_ends_children_that_wait_for_requests(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_ANSWERS)
        answers = await asyncio.gather(*(pool.ask(b"x", key=each) for each in range(2)))
        assert answers == [b"ok", b"ok"]
        assert len(find_children(_NAME)) == 2

        await pool.close()
        await pool.close()

    run(test)


def test_the_child_of_a_cancelled_request_is_ended(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_STALLS)
        for pause in (0, 0.001, 0.2):
            asked = asyncio.create_task(pool.ask(b"x" * 10**6))
            await asyncio.sleep(pause)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            await _wait_until_no_child()
        await pool.close()

    run(test)


def test_a_child_ended_while_it_answers_is_gone(run: Run) -> None:
    """The output so far fills the child's pipe, and no one reads it any more."""

    async def test() -> None:
        child = await ChildProcess.start(_command(_STOPS_HALFWAY))
        asked = asyncio.create_task(child.exchange(b"x", 10**7))
        stdout = child._process.stdout
        assert stdout is not None
        # Cancel the child once it has stopped reading, so that its buffer can be emptied.
        for _ in range(10**6):
            await asyncio.sleep(0)
            if stdout._paused:  # type: ignore[attr-defined]
                break
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

        child.kill()
        await child.wait()

    run(test)


def test_a_child_with_too_large_an_answer_is_ended(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_ANSWERS_TOO_MUCH)
        for _ in range(3):
            with pytest.raises(ChildLost):
                await pool.ask(b"x")
        await pool.close()

    run(test)


def test_a_request_gets_a_new_child_after_the_previous_one_died(run: Run) -> None:
    async def test() -> None:
        pool = _open_pool(_ANSWERS, size=1)
        await pool.ask(b"x")
        (child,) = find_children(_NAME)
        child.kill()

        assert await pool.ask(b"y") == b"ok"

        await pool.close()

    run(test)
