"""First pages and searches of the portal over a million claims: each page's time in a web process,
from the request to its answer, and whether any of its statements reads a whole table.

The application runs in this process and gets its requests without a network. The database contains
the claims of five merchants.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median, quantiles
from typing import Any

from starlette.types import ASGIApp

from bench.crowd import Crowd, fill_crowd
from bench.environment import Ground
from bench.line import Line
from bench.plans import Reading, StatementRecorder, explain, load_grown
from bench.portal_page import Known, Page
from bench.portal_pages import list_pages
from bench.rounds import Scale
from dunwell.interfaces.portal.web.site import SESSION_COOKIE
from dunwell.interfaces.web.responses import name_cookie
from dunwell.interfaces.wiring import open_web
from dunwell.platform.database.database import Database

_ROWS, _TRIES, _WARM_UP = 1_000_000, 100, 6
_MOST_MS = 100
# A table or an index with at least this number of rows grows with the claims.
_GROWN = 10_000
_KNOWN = """
SELECT w.workflow_id, x.workflow_id AS seldom_id, d.claim_id AS disputed_id, d.dispute_id,
       p.claim_id AS plan_claim_id, p.modality_id AS plan_id, j.job_id,
       c.communication_id AS message_id, c.claim_id AS message_claim_id, u.user_id,
       k.client_id, b.batch_id, s.statement_hash, s.file_id AS bank_file_id,
       o.record_id AS payout_id
FROM (SELECT workflow_id FROM workflows WHERE merchant_id = $1 AND name = 'Messages') w,
     (SELECT workflow_id FROM workflows WHERE merchant_id = $1 AND name = 'Texts') x,
     (SELECT * FROM disputes WHERE merchant_id = $1 AND state = 'OPEN' LIMIT 1) d,
     (SELECT * FROM payment_modalities WHERE merchant_id = $1 AND state = 'REQUESTED' LIMIT 1) p,
     (SELECT job_id FROM jobs WHERE merchant_id = $1 LIMIT 1) j,
     (SELECT * FROM communications WHERE merchant_id = $1 LIMIT 1) c,
     (SELECT user_id FROM users WHERE user_id = $2) u,
     (SELECT client_id FROM credentials WHERE merchant_id = $1 LIMIT 1) k,
     (SELECT batch_id FROM letter_batch_items WHERE batch_id IS NOT NULL LIMIT 1) b,
     (SELECT * FROM bank_statements WHERE merchant_id = $1 ORDER BY imported_at DESC LIMIT 1) s,
     (SELECT record_id FROM provider_payouts
      WHERE merchant_id = $1 AND entry_id IS NOT NULL LIMIT 1) o
"""


@dataclass(frozen=True, slots=True)
class Portal:
    app: ASGIApp
    database: Database
    cookie: bytes


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    crowd = await fill_crowd(ground, scale.rows(_ROWS))
    lines, readings = list[Line](), dict[str, Reading]()
    async with open_portal(ground, crowd) as portal:
        pages = list_pages(await load_known(portal.database, crowd))
        for page in pages:
            lines.append(await _time(portal, page, max(20, int(_TRIES * scale.share))))
        for page in pages:
            readings[page.name] = await read_page(portal, page, _GROWN)
    await ground.clear_claims()
    return [*lines, *_summarize(readings)]


async def load_known(database: Database, crowd: Crowd) -> Known:
    async with database.connection() as connection:
        row = await connection.fetchrow(_KNOWN, crowd.merchant_id, crowd.user_id)
    assert row is not None
    today = datetime.now(UTC).date()
    return Known(crowd.merchant_id, crowd.rows, crowd.first_id, **row, today=today)


@asynccontextmanager
async def open_portal(ground: Ground, crowd: Crowd) -> AsyncIterator[Portal]:
    """Open the portal with a pool of one connection, so that all of its statements can be recorded.
    No page uses two connections at a time."""
    resources = crowd.bench.resources
    database = await Database.open(ground.embedded.url, size=1)
    try:
        settings = replace(resources.settings, public_url="http://localhost:8000")
        async with open_web(replace(resources, database=database, settings=settings)) as web:
            cookie = f"{name_cookie(SESSION_COOKIE, is_secure=False)}={crowd.secret}".encode()
            yield Portal(web.app, database, cookie)
    finally:
        await database.close()


async def _time(portal: Portal, page: Page, attempts: int) -> Line:
    """Request the page until the server keeps its plans, and then measure it `attempts` times."""
    taken = []
    for turn in range(-_WARM_UP, attempts):
        started = time.perf_counter()
        await _request(portal, page.address(turn))
        if turn >= 0:
            taken.append((time.perf_counter() - started) * 1000)
    worst = quantiles(taken, n=100, method="inclusive")[98]
    return Line(
        work=f"portal: {page.name}, p99", unit="ms", ours=[worst], at_most=_MOST_MS,
        beside="its median", reference=[median(taken)],
    )  # fmt: skip


async def read_page(portal: Portal, page: Page, least: int, *settings: str) -> Reading:
    """Return what the page's statements read. Tables and indexes with at least `least`
    rows count as growing. `settings` are those of the planner, as in SET."""
    recorder = StatementRecorder()
    async with portal.database.connection() as connection:
        connection.add_query_logger(recorder.note)
    await _request(portal, page.address(1))
    async with portal.database.connection() as connection:
        connection.remove_query_logger(recorder.note)
        grown = await load_grown(connection, least)
        return await explain(connection, recorder.pop_statements(), grown, *settings)


def _summarize(readings: dict[str, Reading]) -> list[Line]:
    scanning = {name: each.scans for name, each in readings.items() if each.scans}
    for name, scans in scanning.items():
        print(f"SCANS: {name}: {'; '.join(scans)}", flush=True)
    for name, each in sorted(readings.items(), key=lambda each: -each[1].rows)[:10]:
        print(f"{each.rows:>9,} rows read by {name}", flush=True)
    most = max(each.rows for each in readings.values())
    return [
        Line(
            work="portal: pages that read no table or index whole", unit="pages",
            ours=[len(readings) - len(scanning)], beside="all pages", reference=[len(readings)],
            at_least=1,
        ),
        Line(work="portal: rows read by the page that reads most", unit="rows", ours=[most]),
    ]  # fmt: skip


async def _request(portal: Portal, address: str) -> None:
    """Request the page. Raise RuntimeError unless the response has status 200."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "client": ("127.0.0.1", 40000),
        "server": ("localhost", 8000), "state": {},
        "headers": [(b"host", b"localhost:8000"), (b"cookie", portal.cookie)],
    }  # fmt: skip
    statuses = []
    request = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        """Give the request once. After that the client stays connected and sends nothing."""
        return request.pop() if request else await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await portal.app(scope, receive, send)
    if statuses != [200]:
        raise RuntimeError(f"{address} was answered with {statuses}")
