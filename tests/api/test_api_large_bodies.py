"""A large JSON body is spooled to disk while it is received. At most two are in memory at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from starlette.requests import Request
from starlette.types import Message

from dunwell.interfaces.api.serving import LargeBodies
from dunwell.platform.errors import RateLimited
from dunwell.platform.http.multipart import UPLOADS

_MIB = 1024 * 1024
_SMALL = b"a" * 256 * 1024
_LARGE = b"a" * (256 * 1024 + 1)


class BodyRequest:
    """A request of a merchant that is processed until `ending` is set."""

    def __init__(self, bodies: LargeBodies, body: bytes, merchant_id: int = 1) -> None:
        self._bodies = bodies
        self._body = body
        self._merchant_id = merchant_id
        self.sending = asyncio.Event()
        self.sending.set()
        self.ending = asyncio.Event()
        self.read = asyncio.Event()

    async def run(self) -> bytes:
        scope = {"type": "http", "method": "POST", "headers": []}
        request = Request(scope, self._receive)
        async with AsyncExitStack() as holding:
            body = await self._bodies.read(request, self._merchant_id, holding)
            self.read.set()
            await self.ending.wait()
        return body

    async def _receive(self) -> Message:
        await self.sending.wait()
        piece, self._body = self._body[:_MIB], self._body[_MIB:]
        return {"type": "http.request", "body": piece, "more_body": bool(self._body)}


@pytest.fixture
async def bodies() -> AsyncIterator[LargeBodies]:
    yield LargeBodies()
    assert UPLOADS.held_bytes == 0


async def _is_read(sender: BodyRequest) -> bool:
    try:
        await asyncio.wait_for(sender.read.wait(), 0.3)
    except TimeoutError:
        return False
    return True


async def test_two_large_bodies_are_in_memory_and_a_merchant_without_one_is_served_next(
    bodies: LargeBodies,
) -> None:
    one, two, three = [BodyRequest(bodies, _LARGE) for _ in range(3)]
    other = BodyRequest(bodies, _LARGE, merchant_id=2)
    senders = [one, two, three, other]
    async with asyncio.TaskGroup() as running:
        tasks = []
        for each in senders:
            tasks.append(running.create_task(each.run()))
            await asyncio.sleep(0.01)
        assert [await _is_read(each) for each in senders] == [True, True, False, False]
        one.ending.set()
        assert await _is_read(other)
        assert not three.read.is_set()
        for each in senders:
            each.ending.set()
    assert [task.result() for task in tasks] == [_LARGE] * 4


async def test_small_bodies_do_not_wait(bodies: LargeBodies) -> None:
    senders = [
        BodyRequest(bodies, _LARGE),
        BodyRequest(bodies, _LARGE),
        BodyRequest(bodies, _SMALL),
    ]
    async with asyncio.TaskGroup() as running:
        for each in senders:
            running.create_task(each.run())
        assert await _is_read(senders[2])
        for each in senders:
            each.ending.set()


async def test_a_large_body_occupies_no_slot_while_it_is_received(bodies: LargeBodies) -> None:
    slow = [BodyRequest(bodies, _LARGE + bytes(2 * _MIB)) for _ in range(4)]
    quick = BodyRequest(bodies, _LARGE)
    async with asyncio.TaskGroup() as running:
        for each in slow:
            running.create_task(each.run())
        await asyncio.sleep(0)
        for each in slow:
            each.sending.clear()
        running.create_task(quick.run())
        assert await _is_read(quick)
        for each in (*slow, quick):
            each.sending.set()
            each.ending.set()


async def test_a_merchant_cannot_send_more_than_a_quarter_of_a_gibibyte_at_once(
    bodies: LargeBodies,
) -> None:
    UPLOADS.count(255 * _MIB, 1)
    try:
        with pytest.raises(RateLimited):
            await BodyRequest(bodies, bytes(2 * _MIB)).run()
        other = BodyRequest(bodies, bytes(2 * _MIB), merchant_id=2)
        other.ending.set()
        assert len(await other.run()) == 2 * _MIB
    finally:
        UPLOADS.count(-255 * _MIB, 1)
