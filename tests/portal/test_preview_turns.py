"""Pages with a rendered message: one at a time for each user, two for each process, five seconds
each, and only while the browser waits."""

import asyncio
from typing import Any
from uuid import UUID

import psutil
import pytest
from starlette.requests import Request

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.interfaces.portal.web.preview_turns import (
    PreviewBusy,
    PreviewLimits,
    PreviewTooSlow,
    PreviewTurns,
)
from dunwell.platform.errors import InvalidRequest
from tests.support.children import find_children
from tests.support.letters import a_letter

ADA, BOB, EVE = UUID(int=1), UUID(int=2), UUID(int=3)
_PRINTER = "dunwell.contact.messages.letters.printer_child"


class Browser:
    """A request whose client disconnects when `gone` is set."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.request = Request({"type": "http", "headers": []}, self._receive)
        self._was_read = False

    async def _receive(self) -> Any:
        if not self._was_read:
            self._was_read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}


class Pages:
    """Pages that run until `ended` is set. `at_work` lists the users of the running pages, `began`
    those of all pages that have started."""

    def __init__(self, turns: PreviewTurns) -> None:
        self.turns = turns
        self.at_work: list[UUID] = []
        self.began: list[UUID] = []
        self.ended = asyncio.Event()

    async def make(self, user_id: UUID) -> str:
        self.at_work.append(user_id)
        self.began.append(user_id)
        try:
            await self.ended.wait()
        finally:
            self.at_work.remove(user_id)
        return "made"

    def ask(self, user_id: UUID, browser: Browser | None = None) -> asyncio.Task[str]:
        request = (browser or Browser()).request
        return asyncio.create_task(self.turns.run(request, user_id, lambda: self.make(user_id)))


async def settle() -> None:
    """Let the event loop run until all tasks are waiting."""
    for _ in range(30):
        await asyncio.sleep(0)


def some_pages(**limits: Any) -> Pages:
    return Pages(PreviewTurns(PreviewLimits(**limits)))


def test_the_limits_match_the_documented_ones() -> None:
    limits = PreviewTurns().limits
    assert (limits.at_once, limits.seconds, limits.waiting_seconds) == (2, 5.0, 5.0)
    assert (limits.waiting_of_user, limits.waiting) == (6, 24)


async def test_a_user_renders_one_page_at_a_time_and_the_process_two() -> None:
    pages = some_pages()
    asked = [pages.ask(user) for user in (ADA, ADA, BOB, EVE)]
    await settle()
    assert pages.at_work == [ADA, BOB]

    pages.ended.set()
    assert await asyncio.gather(*asked) == ["made"] * 4
    assert pages.began == [ADA, BOB, EVE, ADA], "the user who was served least is next"


async def test_a_full_queue_refuses_immediately_and_a_slow_one_after_the_timeout() -> None:
    pages = some_pages(waiting_of_user=1, waiting=2, waiting_seconds=0.05)
    running = [pages.ask(ADA), pages.ask(BOB)]
    await settle()
    waiting = [pages.ask(ADA), pages.ask(EVE)]
    await settle()

    for refused in (pages.ask(ADA), pages.ask(UUID(int=4))):
        await settle()
        assert isinstance(refused.exception(), PreviewBusy)
    for each in waiting:
        with pytest.raises(PreviewBusy):
            await each
    pages.ended.set()
    assert await asyncio.gather(*running, pages.ask(EVE)) == ["made"] * 3


async def test_a_page_is_cancelled_after_the_timeout_and_the_next_one_starts() -> None:
    pages = some_pages(seconds=0.05)
    slow, next_one = pages.ask(ADA), pages.ask(ADA)
    with pytest.raises(PreviewTooSlow):
        await asyncio.wait_for(slow, 10)
    pages.ended.set()
    assert await next_one == "made"
    assert pages.at_work == []


async def test_a_timeout_raised_by_the_page_itself_is_not_reported_as_a_slow_page() -> None:
    async def fail() -> str:
        raise TimeoutError("of the line")

    with pytest.raises(TimeoutError, match="of the line"):
        await PreviewTurns().run(Browser().request, ADA, fail)


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_closed_connection_cancels_its_page_or_its_place_in_the_queue(
    is_waiting: bool,
) -> None:
    pages, browser = some_pages(), Browser()
    before = [pages.ask(ADA)] if is_waiting else []
    await settle()
    asked = pages.ask(ADA, browser)
    await settle()
    browser.gone.set()
    with pytest.raises(InvalidRequest, match="connection ended"):
        await asyncio.wait_for(asked, 10)
    assert pages.at_work == [ADA] * is_waiting

    after = pages.ask(ADA)
    pages.ended.set()
    assert await asyncio.gather(*before, after) == ["made"] * (1 + is_waiting)
    assert pages.began == [ADA, ADA]


async def test_a_turn_given_to_a_page_that_was_just_cancelled_is_passed_on() -> None:
    turns = PreviewTurns(PreviewLimits(at_once=1))
    began: list[UUID] = []

    async def hold(user_id: UUID) -> None:
        async with turns.turn(user_id):
            began.append(user_id)

    async with turns.turn(ADA):
        second, third = asyncio.create_task(hold(BOB)), asyncio.create_task(hold(EVE))
        await settle()
    # The second page has got its turn and has not run since.
    second.cancel()

    await asyncio.wait_for(third, 10)
    assert (began, second.cancelled()) == ([EVE], True)


async def test_the_child_process_of_a_letter_is_stopped_with_its_page() -> None:
    usual, large = (encode_sheet(a_letter(body).sheet) for body in ("a", "a\n\n" * 6_000))
    printer, browser = LetterPrinter(1), Browser()
    known = {each.pid for each in find_children(_PRINTER)}
    await printer.print_sheet(usual)
    [child] = [each for each in find_children(_PRINTER) if each.pid not in known]
    used = child.cpu_times().user

    async def print_large_letter() -> bytes:
        return await printer.print_sheet(large)

    asked = asyncio.create_task(PreviewTurns().run(browser.request, ADA, print_large_letter))
    async with asyncio.timeout(10):
        await _wait_for_work(child, used)
    browser.gone.set()
    with pytest.raises(InvalidRequest):
        await asyncio.wait_for(asked, 10)

    await asyncio.to_thread(child.wait, 5)
    # A new child process can use its place.
    assert (await printer.print_sheet(usual)).startswith(b"%PDF")
    await printer.close()


async def _wait_for_work(child: psutil.Process, used: float) -> None:
    while True:
        if child.cpu_times().user > used:
            return
        await asyncio.sleep(0.01)
