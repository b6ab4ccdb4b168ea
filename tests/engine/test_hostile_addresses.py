"""Webhooks never reach internal addresses, whatever the URL or the name server says.

Listeners on the machine's own addresses check that nothing connects to them.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client
from tests.support.receiver import a_receiver, answers, redirects_to

# Hosts as written into the URL; {port} is the port of the listener.
SPELLED = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0.0.1",
    "0x7f.1", "0177.0.0.1", "017700000001", "0177.0.0.0x1", "127.000.000.001", "127.0.0.1.", "0",
    "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[2002:7f00:1::1]", "[::1%25lo]", "[fe80::1]",
    "①②⑦.⓪.⓪.①", "127。0。0。1",
]  # fmt: skip
# Internal addresses that a name server returns for an ordinary host name.
ANSWERED = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "10.255.255.254", "172.16.0.1",
    "172.31.255.254", "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.64.0.1",
    "100.100.100.200", "192.0.0.192", "198.18.0.1", "192.88.99.1", "224.0.0.1", "239.255.255.250",
    "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1",
    "2002:a9fe:a9fe::1", "2001:0:7f00:1::1", "fd00:ec2::254", "fc00::1", "fe80::1",
    "fec0::1", "ff02::1",
]  # fmt: skip
OUTSIDE = "203.0.114.7"


class Names(AbstractResolver):
    """A name server that returns the given answers in turn, and then always the last one."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(
                hostname=host, host=each, port=port, proto=0, flags=socket.AI_NUMERICHOST,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
            )
            for each in found
        ]  # fmt: skip

    async def close(self) -> None:
        """Do nothing: no resource is open."""


@asynccontextmanager
async def a_client(names: AbstractResolver | None = None) -> AsyncIterator[HttpClient]:
    """Open a client as in production, where loopback counts as internal."""
    async with open_http_client(
        allow_loopback=False, user_agent="t", timeout_seconds=2, resolver=names
    ) as client:
        yield client


@asynccontextmanager
async def a_listener() -> AsyncIterator[tuple[int, list[asyncio.StreamWriter]]]:
    """Listen on all addresses of the machine, IPv4 and IPv6; yield the port and the connections."""
    seen: list[asyncio.StreamWriter] = []
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    async with await asyncio.start_server(lambda _r, w: seen.append(w), sock=listener):
        yield listener.getsockname()[1], seen


def test_the_tables_have_the_documented_number_of_cases() -> None:
    assert len(SPELLED) + len(ANSWERED) >= 60
    assert len(set(SPELLED)) == len(SPELLED)
    assert len(set(ANSWERED)) == len(ANSWERED)


@pytest.mark.parametrize("host", SPELLED)
async def test_no_spelling_of_an_internal_host_is_reached(host: str) -> None:
    async with a_listener() as (port, seen), a_client() as client:
        answer = await client.post(f"http://{host}:{port}/hooks", b"{}")
        await asyncio.sleep(0)
    assert isinstance(answer, NoResponse)
    assert seen == []


@pytest.mark.parametrize("address", ANSWERED)
async def test_no_host_name_of_an_internal_address_is_reached(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_listener() as (port, seen), a_client(Names([address])) as client:
        answer = await client.post(f"http://hooks.shop.example:{port}/", b"{}")
        await asyncio.sleep(0)
    assert answer == NoResponse("address not allowed")
    assert seen == []
    assert "ADDRESS_REFUSED" in capsys.readouterr().out


async def test_a_host_name_with_one_internal_address_is_not_reached() -> None:
    names = Names(["127.0.0.1", "::1", "10.0.0.1"])
    async with a_listener() as (port, seen), a_client(names) as client:
        answer = await client.post(f"http://hooks.shop.example:{port}/", b"{}")
        await asyncio.sleep(0)
    assert answer == NoResponse("address not allowed")
    assert seen == []


async def test_dns_rebinding_to_an_internal_address_reaches_nothing() -> None:
    """The name resolves to a public address at first and to an internal one later."""
    names = Names([OUTSIDE], ["127.0.0.1"])
    [looked_up] = await names.resolve("hooks.shop.example")
    async with a_listener() as (port, seen), a_client(names) as client:
        answers = [await client.post(f"http://hooks.shop.example:{port}/", b"{}") for _ in range(3)]
        await asyncio.sleep(0)
    assert looked_up["host"] == OUTSIDE
    assert names.asked >= 2
    assert answers == [NoResponse("address not allowed")] * 3
    assert seen == []


async def test_a_redirect_to_an_internal_address_is_not_followed() -> None:
    async with a_listener() as (port, seen):
        inward = [f"http://{host}:{port}/" for host in ("127.0.0.1", "localhost", "[::1]", "127.1")]
        for url in inward:
            async with (
                a_receiver(redirects_to(url)) as outer,
                open_http_client(allow_loopback=True, user_agent="t") as client,
            ):
                answer = await client.post(outer.url, b"{}")
            assert isinstance(answer, HttpResponse)
            assert answer.status == 302
        await asyncio.sleep(0)
    assert seen == []


async def test_the_listener_sees_a_connection_when_loopback_is_allowed() -> None:
    """The control for the other tests: with loopback allowed, the same name is connected to."""
    names = Names(["127.0.0.1"])
    async with (
        a_receiver(answers(204)) as receiver,
        open_http_client(allow_loopback=True, user_agent="t", resolver=names) as client,
    ):
        url = receiver.url.replace("127.0.0.1", "hooks.shop.example")
        answer = await client.post(url, b"{}")
    assert isinstance(answer, HttpResponse)
    assert len(receiver.received) == 1
