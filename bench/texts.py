"""SMS that are rendered, sent to a real Kannel and recorded, including the report of each delivery,
compared with a simple aiohttp loop that sends the same texts to the same Kannel and counts its
reports. The simulated SMS centre accepts every message and reports it as delivered at once."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import cast

import aiohttp
from tests.servers.kannel import PASSWORD, Kannel, a_kannel
from tests.servers.sms_world import a_provider
from tests.support.served import serve

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate
from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.kannel.channel import KannelChannel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources

_TEXTS = 3_000
_AT_ONCE = 50
# The name of the adapter in the benchmark merchant's configuration. Here it is a delivery provider.
_NAME = "outbox"
_SECRETS = {f"deliveryProviders/{_NAME}/credentials/passwordFile": PASSWORD}
_TEXT = (
    b"Nordwind Schuhe: RE-2026-00000001 ist offen. https://pay.example.com/q/0123456789012345678901"
)
_DELIVERED = (
    "SELECT count(*) FROM communications WHERE merchant_id = $1 AND delivered_at IS NOT NULL"
)
_REPORTED = "SELECT count(*) FROM delivery_reports"
_CLEAR = "TRUNCATE delivery_reports"
_PUT_OFF = timedelta(seconds=6)
_PATIENCE_SECONDS = 120


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    count = scale.rows(_TEXTS)
    bench = await make_merchant(ground, "Texts")
    with tempfile.TemporaryDirectory(prefix="dunwell-bench-") as folder:
        async with serve(bench.resources) as served, a_bare_receiver() as receiver, a_kannel(
            Path(folder), public_url=served.origin, max_pending_submits="1000"
        ) as kannel:  # fmt: skip
            kannel.centre.receipts_at_once = "DELIVRD"
            line = a_provider(kannel.address)
            resources = served.resources
            await apply_installation(
                resources, Installation(delivery_providers={_NAME: line}), _SECRETS
            )
            await served.installation.refresh()
            channel = KannelChannel(_NAME, line, _SECRETS, resources.keys, served.origin)
            bound = replace(bench, resources=replace(bench.resources, settings=resources.settings))
            ours, reference = await alternate(
                scale,
                [
                    partial(_send, ground, bound, count, channel),
                    partial(_send_bare, count, kannel, receiver),
                ],
            )
            await channel.close()
    return [
        Line(
            work="SMS rendered, handed to a Kannel, reports joined", unit="SMS/s",
            ours=ours, beside=f"a bare aiohttp loop, {_AT_ONCE} calls at once as ours",
            reference=reference, at_least=0.8,
        )
    ]  # fmt: skip


async def _send(ground: Ground, bench: BenchMerchant, count: int, channel: KannelChannel) -> float:
    """Return the SMS per second, until the last one is reported as delivered."""
    await ground.clear_claims()
    async with ground.database.connection() as connection:
        await connection.execute(_CLEAR)
    await submit_claims(bench, count)
    engine = Engine(bench.resources)
    while await engine.run_once():
        pass
    await ground.settle()
    dispatcher = MessageDispatcher(bench.resources, [channel])
    started = time.perf_counter()
    joining = asyncio.create_task(_join(bench.resources, count))
    done = 0
    while done < count:
        done += await dispatcher.run_once()
    await joining
    # A report that arrives before the response to its message was recorded is joined some seconds
    # later.
    clock = bench.resources.clock
    assert isinstance(clock, MovableClock)
    clock.advance(_PUT_OFF)
    while await process_reports(bench.resources):
        pass
    seconds = time.perf_counter() - started
    async with ground.database.connection() as connection:
        assert await connection.fetchval(_DELIVERED, bench.merchant.merchant_id) == count
    await dispatcher.close()
    return count / seconds


async def _join(resources: Resources, count: int) -> None:
    """Join reports as the worker does, until all have arrived."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            await process_reports(resources)
            async with resources.database.connection() as connection:
                if await connection.fetchval(_REPORTED) >= count:
                    break
            await asyncio.sleep(0.2)


@dataclass(slots=True)
class BareReceiver:
    """Responds to reports at once, and counts them."""

    port: int = 0
    reports: int = 0


class _Connection(asyncio.Protocol):
    def __init__(self, receiver: BareReceiver) -> None:
        self._receiver = receiver
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            self._received = self._received[end + 4 :]
            self._receiver.reports += 1
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@asynccontextmanager
async def a_bare_receiver() -> AsyncIterator[BareReceiver]:
    receiver = BareReceiver()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(receiver), "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    yield receiver
    server.close()


async def _send_bare(count: int, kannel: Kannel, receiver: BareReceiver) -> float:
    receiver.reports = 0
    slots = asyncio.Semaphore(_AT_ONCE)
    url = f"{kannel.address}/cgi-bin/sendsms"
    async with aiohttp.ClientSession() as session:

        async def send(number: int) -> None:
            async with slots, session.post(
                url, data=_TEXT, headers=_write_headers(number, receiver)
            ) as answer:  # fmt: skip
                assert answer.status == 202

        started = time.perf_counter()
        await asyncio.gather(*(send(number) for number in range(count)))
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while receiver.reports < count:  # noqa: ASYNC110 - another process tells
                await asyncio.sleep(0.01)
        return count / (time.perf_counter() - started)


def _write_headers(number: int, receiver: BareReceiver) -> Mapping[str, str]:
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "X-Kannel-Username": "dunwell",
        "X-Kannel-Password": PASSWORD.decode(),
        "X-Kannel-From": "Nordwind",
        "X-Kannel-To": f"+49151{number:08d}",
        "X-Kannel-Coding": "0",
        "X-Kannel-DLR-Mask": "19",
        "X-Kannel-DLR-URL": f"http://127.0.0.1:{receiver.port}/{number}?type=%d&id=%F",
    }
