"""Every debtor page with all of its content, compared with an empty route of the same server.

The comparison uses the web process's processor time, which excludes waiting for the database. It
takes many short turns, because a machine that others use, too, changes its speed from one second to
the next.
"""

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import aiohttp
import psutil

from bench.children import web_processes
from bench.environment import Ground
from bench.line import Line
from bench.merchant import make_merchant, submit_claims
from bench.page_states import CLAIMS, Page, prepare_pages
from bench.rounds import Scale, alternate

_PAGES = 100
_WARM_UP = 50
_EMPTY = "/healthz"
_NANOSECONDS = 1_000_000_000
# The part of an address that differs from run to run.
_ID = re.compile(r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9_-]{22})(?=[/?]|$)")


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, None, is_live=True)
    await ground.clear_claims()
    await submit_claims(bench, CLAIMS)
    async with web_processes(ground, 1) as [port]:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            pages = await prepare_pages(bench, http, f"http://127.0.0.1:{port}")
        await ground.settle()
        return [await _compare(port, page, scale) for page in pages]


async def _compare(port: int, page: Page, scale: Scale) -> Line:
    """Measure a page together with the reference, so that the machine's other work affects both."""
    empty = Page(_EMPTY, page.cookie)
    await _spend(port, page, _WARM_UP)
    ours, reference = await alternate(
        replace(scale, rounds=scale.rounds * 7),
        [partial(_spend, port, page, _PAGES), partial(_spend, port, empty, 2 * _PAGES)],
    )
    return Line(
        work=f"debtor's page {_ID.sub('/...', page.name)}", unit="pages/CPU s", ours=ours,
        beside="an empty route of the same server", reference=reference, at_least=1 / 6,
    )  # fmt: skip


async def _spend(port: int, page: Page, count: int) -> float:
    """Return the responses per second of the web process's processor time."""
    cookie = f"Cookie: {page.cookie}\r\n" if page.cookie else ""
    request = f"GET {page.address} HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await _ask(reader, writer, request, page.status, 1)
        before = _read_cpu(port)
        await _ask(reader, writer, request, page.status, count)
        return count / (_read_cpu(port) - before)
    finally:
        writer.close()
        await writer.wait_closed()


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: bytes,
    status: int,
    count: int,
) -> None:
    for _ in range(count):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status), (request, head)
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))


def _read_cpu(port: int) -> float:
    """Return the seconds of the web process at this port, as the scheduler counts them for each
    thread."""
    [process] = [
        child for child in psutil.Process().children() if str(port) in child.cmdline()[-1:]
    ]
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    spent = [int((thread / "schedstat").read_text().split()[0]) for thread in threads]
    return sum(spent) / _NANOSECONDS
