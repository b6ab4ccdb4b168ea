"""The debtor's claim page, all its items shown, beside an empty route of the same server.

What is compared is the web process's CPU time, in which waiting for the database does not count.
"""

import asyncio
import secrets
from datetime import UTC, datetime
from functools import partial

import psutil

from bench.children import web_processes
from bench.ground import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate
from dunwell.landing.open_session import Opening, open_session
from dunwell.landing.session import VALUE_BYTES, Level, name_cookie

_PAGES = 5_000
_WARM_UP = 200
_EMPTY = "/healthz"
_CLAIM = "/claim"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, None, is_live=True)
    await ground.clear_claims()
    await submit_claims(bench, 1)
    await _add_fees(ground)
    cookie = await _open_session(ground, bench)
    await ground.settle()
    count = scale.rows(_PAGES)
    async with web_processes(ground, 1) as [port]:
        page, empty = await alternate(
            scale,
            [
                partial(_spend, port, _CLAIM, cookie, count),
                partial(_spend, port, _EMPTY, cookie, count),
            ],
        )
    return [
        Line(
            work="claim page of a debtor, one after another", unit="pages/CPU s",
            ours=page, beside="an empty route of the same server", reference=empty,
            at_least=0.33,
        )
    ]  # fmt: skip


async def _add_fees(ground: Ground) -> None:
    async with ground.database.connection() as connection:
        await connection.execute(
            "INSERT INTO items (merchant_id, claim_id, position, type, value_cents, item_date)"
            " SELECT merchant_id, claim_id, 1, 'DUNNING_FEE', 250, '2026-03-01' FROM claims"
        )


async def _open_session(ground: Ground, bench: BenchMerchant) -> str:
    """The cookie of a session that shows everything."""
    now = datetime.now(UTC)
    async with ground.database.transaction() as tx:
        claim_id = await tx.fetchval("SELECT claim_id FROM claims")
        opening = Opening(
            claim_id, None, None, Level.FACT, bench.resources.ids.new(now),
            secrets.token_bytes(VALUE_BYTES), now,
        )  # fmt: skip
        value = await open_session(bench.work(tx), opening)
    return f"{name_cookie(is_secure=False)}={value}"


async def _spend(port: int, path: str, cookie: str, count: int) -> float:
    """Answers in a second of the web process's CPU time."""
    process = _find_process(port)
    request = (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n").encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await _ask(reader, writer, request, _WARM_UP)
        before = _read_cpu(process)
        await _ask(reader, writer, request, count)
        return count / (_read_cpu(process) - before)
    finally:
        writer.close()
        await writer.wait_closed()


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, count: int
) -> None:
    for _ in range(count):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head[:200]
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))


def _find_process(port: int) -> psutil.Process:
    [process] = [
        child for child in psutil.Process().children() if str(port) in child.cmdline()[-1:]
    ]
    return process


def _read_cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
