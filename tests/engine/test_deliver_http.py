"""The HTTP client of webhooks against malicious or broken receivers."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client
from tests.support.receiver import (
    a_receiver,
    answers,
    answers_at_length,
    disconnects,
    drips,
    hangs,
    redirects_to,
)

# Spellings of 127.0.0.1 and ::1, and host names for them; {port} is the port of a listener.
INWARD = [
    "http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://127.0.1:{port}/",
    "http://2130706433:{port}/", "http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/",
    "http://0177.0.0.1:{port}/", "http://017700000001:{port}/", "http://127.000.000.001:{port}/",
    "http://127.0.0.1.:{port}/", "http://0:{port}/", "http://0.0.0.0:{port}/",
    "http://localhost:{port}/", "http://LOCALHOST:{port}/", "http://localhost.:{port}/",
    "http://user:word@127.0.0.1:{port}/", "http://shop.example@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@shop.example/", "http://127.0.0.1:{port}\\@shop.example/",
    "http://[::1]:{port}/", "http://[::]:{port}/", "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/", "http://[::127.0.0.1]:{port}/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:{port}/", "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/", "http://[::1%25lo]:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/", "http://127。0。0。1:{port}/", "http://%31%32%37.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/", "http:127.0.0.1:{port}", "//127.0.0.1:{port}/",
    "file:///etc/passwd", "unix:///var/run/x.sock", "gopher://127.0.0.1:{port}/", "",
]  # fmt: skip


@pytest.fixture
async def guarded() -> AsyncIterator[HttpClient]:
    """Open a client as in production, where loopback counts as internal."""
    async with open_http_client(allow_loopback=False, user_agent="t", timeout_seconds=2) as client:
        yield client


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with open_http_client(allow_loopback=True, user_agent="t", timeout_seconds=0.5) as client:
        yield client


@pytest.mark.parametrize("url", INWARD)
async def test_no_spelling_of_an_internal_address_is_connected_to(
    guarded: HttpClient, url: str
) -> None:
    seen = []
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    async with await asyncio.start_server(lambda _r, w: seen.append(w), sock=listener):
        port = listener.getsockname()[1]
        answer = await guarded.post(url.format(port=port), b"{}")
        await asyncio.sleep(0)
    assert isinstance(answer, NoResponse)
    assert seen == []


async def test_a_host_name_of_an_internal_address_is_not_allowed(
    guarded: HttpClient,
) -> None:
    assert await guarded.post("http://localhost:1/", b"{}") == NoResponse("address not allowed")


async def test_a_redirect_is_not_followed(client: HttpClient) -> None:
    async with a_receiver(answers(200)) as inner, a_receiver(redirects_to(inner.url)) as outer:
        answer = await client.post(outer.url, b"{}")
        assert isinstance(answer, HttpResponse)
        assert answer.status == 302
        assert inner.received == []


@pytest.mark.parametrize("answering", [hangs, drips])
async def test_the_time_limit_bounds_the_whole_exchange(
    client: HttpClient, answering: object
) -> None:
    async with a_receiver(answering) as receiver:  # type: ignore[arg-type]
        assert await client.post(receiver.url, b"{}") == NoResponse("timed out")


async def test_only_the_first_4096_bytes_of_a_huge_response_are_read(client: HttpClient) -> None:
    sent: list[int] = []
    async with a_receiver(answers_at_length(300_000_000, sent)) as receiver:
        answer = await client.post(receiver.url, b"{}")
    assert isinstance(answer, HttpResponse)
    assert answer.status == 200
    assert answer.start == b"x" * 4096
    assert sum(sent) < 20_000_000


async def test_cookies_are_not_kept(client: HttpClient) -> None:
    async with a_receiver(answers(204, Set_Cookie="a=b")) as receiver:
        await client.post(receiver.url, b"{}")
        await client.post(receiver.url, b"{}")
    assert ["cookie" in each.headers for each in receiver.received] == [False, False]


async def test_a_proxy_in_the_environment_is_not_used(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_receiver(answers(204)) as receiver, a_receiver(answers(200)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        answer = await client.post(receiver.url, b"{}")
    assert isinstance(answer, HttpResponse)
    assert answer.status == 204
    assert proxy.received == []


async def test_a_connection_closed_without_a_response_is_retried_once(client: HttpClient) -> None:
    async with a_receiver(disconnects) as receiver:
        answer = await client.post(receiver.url, b"{}")
    assert isinstance(answer, NoResponse)
    assert len(receiver.received) == 2


async def test_a_closed_port_is_reported_as_no_connection(client: HttpClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert await client.post(f"http://127.0.0.1:{port}/", b"{}") == NoResponse("no connection")


async def test_a_response_that_is_not_http_is_reported_as_such(client: HttpClient) -> None:
    async def babble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        answer = await client.post(f"http://127.0.0.1:{port}/", b"{}")
    assert answer == NoResponse("answer is not HTTP")
