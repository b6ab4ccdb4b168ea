"""Turns for pages that show one message or one simulated claim. In the worst case such a page costs
seconds of processor time, so few are made at a time: one for each user, two for each process. A
page is cancelled after five seconds, or when its browser disconnects.

A request that waits for its turn holds no database connection. The queue is short: it has room for
the pictures of a letter that a browser asks for at once, and further requests are refused.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import prometheus_client
from starlette.requests import Request

from dunwell.platform.children.fair_queue import FairQueue, QueueLimits
from dunwell.platform.errors import InvalidRequest, RateLimited, Unavailable
from dunwell.platform.http.server import INPUT_ENDED
from dunwell.platform.metrics import REGISTRY

_Result = TypeVar("_Result")
_RETRY_SECONDS = 5
_finished_previews = prometheus_client.Counter(
    "dunwell_portal_previews", "Pages with a rendered message, by how they ended.",
    ("outcome",), registry=REGISTRY,
)  # fmt: skip


class PreviewBusy(RateLimited):
    """Other previews are being rendered, and the queue is full or did not move in time."""

    def __init__(self) -> None:
        super().__init__(
            "Other previews are being created. Try again in a few seconds.",
            retry_after=_RETRY_SECONDS,
        )


class PreviewTooSlow(Unavailable):
    """Rendering the page exceeded the time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The preview took longer than {seconds:g} seconds and was stopped.",
            retry_after=_RETRY_SECONDS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewLimits:
    """The limits. `at_once` and `waiting` apply to the process. `seconds` is the time limit of one
    page, and `waiting_seconds` that of the queue. `waiting_of_user` allows the six images that a
    browser requests at once."""

    at_once: int = 2
    seconds: float = 5.0
    waiting_seconds: float = 5.0
    waiting_of_user: int = 6
    waiting: int = 24


class PreviewTurns:
    """The queue of previews; one per process."""

    def __init__(self, limits: PreviewLimits = PreviewLimits()) -> None:
        self.limits = limits
        self._queue = FairQueue(
            limits.at_once,
            QueueLimits(
                slots_per_key=1,
                waiting_per_key=limits.waiting_of_user,
                waiting=limits.waiting,
                wait_seconds=limits.waiting_seconds,
            ),
        )

    async def run(
        self, request: Request, user_id: UUID, render: Callable[[], Awaitable[_Result]]
    ) -> _Result:
        """Run `render` when it is the user's turn, and return its result. Raises PreviewBusy,
        PreviewTooSlow, and InvalidRequest if the browser disconnected and `render` was
        cancelled."""
        rendering = asyncio.ensure_future(self._run_in_turn(user_id, render))
        disconnect = asyncio.ensure_future(_wait_until_disconnected(request))
        try:
            await asyncio.wait((rendering, disconnect), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (rendering, disconnect):
                each.cancel()
            await asyncio.wait((rendering, disconnect))
            if not disconnect.cancelled():
                disconnect.exception()  # A failed connection counts as disconnected.
        if rendering.cancelled():
            _finished_previews.labels("gone").inc()
            raise InvalidRequest("The connection ended before the page was ready.")
        return rendering.result()

    async def _run_in_turn(
        self, user_id: UUID, render: Callable[[], Awaitable[_Result]]
    ) -> _Result:
        try:
            async with self.turn(user_id):
                return await self._render_in_time(render)
        except PreviewBusy:
            _finished_previews.labels("busy").inc()
            raise

    async def _render_in_time(self, render: Callable[[], Awaitable[_Result]]) -> _Result:
        try:
            async with asyncio.timeout(self.limits.seconds) as limit:
                result = await render()
        except TimeoutError:
            if not limit.expired():
                raise
            _finished_previews.labels("slow").inc()
            raise PreviewTooSlow(self.limits.seconds) from None
        _finished_previews.labels("made").inc()
        return result

    @asynccontextmanager
    async def turn(self, user_id: UUID) -> AsyncIterator[None]:
        """Wait for the user's turn and hold it. Raises PreviewBusy."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._queue.slot(user_id, 0))
            except (RateLimited, Unavailable):
                raise PreviewBusy from None
            yield


async def _wait_until_disconnected(request: Request) -> None:
    """Return when the browser has disconnected. A browser that closes a connection ends its side
    first and sends nothing more until the response is written, so that counts as disconnected."""
    waiting = [asyncio.ensure_future(_wait_for_disconnect(request))]
    ended = request.scope.get("extensions", {}).get(INPUT_ENDED)
    if ended is not None:
        waiting.append(asyncio.ensure_future(ended["event"].wait()))
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
        # A failed connection counts as disconnected.
        await asyncio.gather(*waiting, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the connection is lost. The rest of the request's body is not needed."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
