"""The number of concurrent requests to a gateway is limited, and a request that waited too long was
not sent."""

import asyncio

import pytest
from aiohttp import web

from dunwell.adapters.channels.gateway import NOT_REACHED, Gateway
from dunwell.platform.http.client import HttpResponse


class SlowGateway:
    """A gateway that responds once `may_respond` is set."""

    def __init__(self) -> None:
        self.open, self.most, self.calls = 0, 0, 0
        self.may_respond = asyncio.Event()

    async def take(self, _request: web.Request) -> web.Response:
        self.calls += 1
        self.open += 1
        self.most = max(self.most, self.open)
        await self.may_respond.wait()
        self.open -= 1
        return web.Response(status=202)


async def call_it(
    calls: int, *, wait_seconds: float, is_open: bool
) -> tuple[SlowGateway, list[object]]:
    slow = SlowGateway()
    if is_open:
        slow.may_respond.set()
    application = web.Application()
    application.router.add_post("/", slow.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    gateway = Gateway("sms", ["127.0.0.1/32"], connections=2, wait_seconds=wait_seconds)
    posts = [asyncio.create_task(gateway.post(address, b"x", {})) for _ in range(calls)]
    if not is_open:
        await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
        slow.may_respond.set()
    answers = await asyncio.gather(*posts)
    await gateway.close()
    await runner.cleanup()
    return slow, [each.status if isinstance(each, HttpResponse) else each for each in answers]


async def test_the_number_of_concurrent_requests_is_limited() -> None:
    slow, answers = await call_it(20, wait_seconds=20, is_open=True)

    assert answers == [202] * 20
    assert slow.most <= 2


async def test_a_request_that_waits_too_long_is_not_sent() -> None:
    slow, answers = await call_it(5, wait_seconds=0.05, is_open=False)

    assert sorted(map(str, answers)) == sorted(
        map(str, [202, 202, NOT_REACHED, NOT_REACHED, NOT_REACHED])
    )
    assert slow.calls == 2


@pytest.mark.parametrize("connections", [1, 3])
async def test_a_cancelled_request_returns_its_slot(connections: int) -> None:
    gateway = Gateway("sms", ["127.0.0.1/32"], connections=connections, wait_seconds=0.05)
    unreachable = "http://127.0.0.1:9/"

    answers = [await gateway.post(unreachable, b"x", {}) for _ in range(connections + 2)]

    assert answers == [NOT_REACHED] * (connections + 2)
    await gateway.close()
