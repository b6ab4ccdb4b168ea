"""Pages of a million claims and as many events, by every filter: first, middle and last pages.

The reference reads as many rows of the same tables by a range of their primary keys, in plain
asyncpg.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from statistics import median, quantiles
from typing import Any
from uuid import UUID

from bench.environment import Ground
from bench.line import Line
from bench.merchant import MONDAY_MORNING, BenchMerchant, make_merchant
from bench.rounds import Scale, alternate
from dunwell.core.claims.lists.list_claims import CLAIMS, list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.states import Status
from dunwell.core.events.event_log import EVENT_CURSORS, EventFilter, load_events_page
from dunwell.core.events.store import save_spans
from dunwell.platform.database.database import Connection

_ROWS, _PAGE, _TRIES = 1_000_000, 200, 100
# The number of rows that one transaction wrote, and the time between two rows.
_SET, _STEP = 1000, timedelta(seconds=30)
_AT = f"timestamptz '{MONDAY_MORNING}' + n * interval '{_STEP.seconds} seconds'"
_WRITTEN_BY = f"({{first}} + n / {_SET})::text::xid8"
_FILL = f"""
SET session_replication_role = replica;
SET synchronous_commit = off;
INSERT INTO claims (merchant_id, claim_id, reference_number, currency, status, created_at,
                    updated_at, written_by)
SELECT {{merchant_id}}, n, 'INV-' || n, 'EUR',
       CASE WHEN n % 100 = 0 THEN 'WITHDRAWN' ELSE 'IN_PROCESS' END,
       {_AT}, {_AT} + n % 7 * interval '1 day', {_WRITTEN_BY}
FROM generate_series(1, {{rows}}) n;
INSERT INTO debtors (merchant_id, claim_id, last_name, customer_number)
SELECT {{merchant_id}}, n, 'Muster', 'C-' || n / 5 FROM generate_series(1, {{rows}}) n;
INSERT INTO items (merchant_id, claim_id, position, type, value_cents)
SELECT {{merchant_id}}, n, 0, 'PRIMARY', 10240 FROM generate_series(1, {{rows}}) n;
INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body, written_by)
SELECT {{merchant_id}}, gen_random_uuid(), n / 3 + 1, n % 3 + 1,
       CASE WHEN n % 1000 = 0 THEN 'DISPUTED' ELSE 'ESCALATED' END,
       {_AT}, repeat('e', 400), {_WRITTEN_BY}
FROM generate_series(1, {{rows}}) n;
RESET session_replication_role;
RESET synchronous_commit
"""
_BY_KEY = """
SELECT * FROM {table} WHERE merchant_id = $1 AND {key} > $2 ORDER BY {key} LIMIT $3
"""

Read = Callable[[Connection], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Crowded:
    """A merchant with `rows` claims and as many events. `first` is the id of the transaction that
    wrote the first thousand of each."""

    bench: BenchMerchant
    rows: int
    first: int

    @property
    def merchant_id(self) -> int:
        return self.bench.merchant.merchant_id

    def written_by(self, share: float) -> int:
        return self.first + int(self.rows * share) // _SET


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    crowded = await _fill(ground, scale.rows(_ROWS))
    attempts = max(20, int(_TRIES * scale.share))
    lines = []
    for name, reads, beside in [
        ("claims", _list_claim_pages(crowded), _by_key(crowded, "claims", "claim_id", 0)),
        ("events", _list_event_pages(crowded), _by_key(crowded, "events", "event_id", UUID(int=0))),
    ]:
        ours, reference = await alternate(
            scale,
            [partial(_time, ground, attempts, reads), partial(_time, ground, attempts, [beside])],
        )
        head = f"{_PAGE} of {crowded.rows:,} {name}, by every filter"
        lines += [
            Line(
                work=f"{head}: slowest page's p99", unit="ms", ours=[each[1] for each in ours],
                beside="rows by primary key, p99", reference=[each[1] for each in reference],
                at_most=20,
            ),
            Line(
                work=f"{head}: median page", unit="ms", ours=[each[0] for each in ours],
                beside="rows by primary key, median", reference=[each[0] for each in reference],
            ),
        ]  # fmt: skip
    await ground.clear_claims()
    return lines


async def _fill(ground: Ground, rows: int) -> Crowded:
    bench = await make_merchant(ground, None)
    await ground.clear_claims()
    async with ground.database.connection() as connection:
        first = int(await connection.fetchval("SELECT pg_current_xact_id()::text"))
        for _ in range(rows // _SET + 1):
            await connection.execute("SELECT pg_current_xact_id()")
        fill = _FILL.format(merchant_id=bench.merchant.merchant_id, first=first, rows=rows)
        await connection.execute(fill, timeout=300)
        while await save_spans(connection):
            pass
    await ground.settle()
    return Crowded(bench, rows, first)


def _list_claim_pages(crowded: Crowded) -> list[Read]:
    """Return the first page, a middle page and the last page of each filter."""
    middle, end = (MONDAY_MORNING + crowded.rows * share * _STEP for share in (0.5, 1))
    filters = [
        ClaimFilter(), ClaimFilter(status=Status.IN_PROCESS), ClaimFilter(status=Status.WITHDRAWN),
        ClaimFilter(customer_number="C-100"), ClaimFilter(reference_number="INV-500"),
        ClaimFilter(updated_since=end + timedelta(days=5)),
        ClaimFilter(updated_since=middle, status=Status.WITHDRAWN),
        ClaimFilter(status=Status.IN_PROCESS, customer_number="C-100"),
    ]  # fmt: skip
    cursors = [
        None,
        _claim_cursor(crowded, crowded.written_by(0.5), crowded.rows // 2),
        _claim_cursor(crowded, crowded.first, _PAGE),
    ]
    pages: list[Read] = [
        partial(_read_claims, crowded, wanted, cursor) for wanted in filters for cursor in cursors
    ]
    # Of the claims changed since the middle: the newest ones, and a page near the middle. All
    # claims between the two match.
    changed = ClaimFilter(updated_since=middle)
    ends = [None, _claim_cursor(crowded, crowded.written_by(0.6), crowded.rows * 6 // 10)]
    return pages + [partial(_read_claims, crowded, changed, cursor) for cursor in ends]


def _list_event_pages(crowded: Crowded) -> list[Read]:
    middle, end = (MONDAY_MORNING + crowded.rows * share * _STEP for share in (0.5, 1))
    times: list[dict[str, Any]] = [
        {}, {"since": middle}, {"until": middle}, {"since": MONDAY_MORNING, "until": end},
        {"since": end - timedelta(hours=1)}, {"since": middle, "until": middle + timedelta(days=1)},
    ]  # fmt: skip
    filters = [EventFilter(claim_id=crowded.rows // 6)]
    filters += [
        EventFilter(**given, type=wanted)
        for given in times
        for wanted in (None, "ESCALATED", "DISPUTED")
    ]
    cursors = [None, *(_cursor(crowded, share) for share in (0.5, 0.999))]
    return [
        partial(_read_events, crowded, wanted, cursor) for wanted in filters for cursor in cursors
    ]


def _claim_cursor(crowded: Crowded, written_by: int, claim_id: int) -> str:
    scope = crowded.bench.work(None).scope()
    return CLAIMS.get_cursor_format(scope).render(scope.ids, (written_by, claim_id))


def _cursor(crowded: Crowded, share: float) -> str:
    place = (crowded.written_by(share), UUID(int=0))
    return EVENT_CURSORS.render((crowded.merchant_id,), place)


async def _read_claims(
    crowded: Crowded, wanted: ClaimFilter, cursor: str | None, tx: Connection
) -> None:
    await list_claims(crowded.bench.work(tx), limit=_PAGE, cursor=cursor, wanted=wanted)


async def _read_events(
    crowded: Crowded, wanted: EventFilter, cursor: str | None, tx: Connection
) -> None:
    await load_events_page(tx, crowded.merchant_id, limit=_PAGE, cursor=cursor, wanted=wanted)


def _by_key(crowded: Crowded, table: str, key: str, behind: object) -> Read:
    statement = _BY_KEY.format(table=table, key=key)

    async def read(tx: Connection) -> None:
        await tx.fetch(statement, crowded.merchant_id, behind, _PAGE)

    return read


async def _time(ground: Ground, attempts: int, reads: Sequence[Read]) -> tuple[float, float]:
    """Return the median of all pages and the highest p99 of a page, in milliseconds."""
    taken: list[list[float]] = [[] for _ in reads]
    async with ground.database.connection() as connection:
        for _ in range(attempts):
            for read, durations in zip(reads, taken, strict=True):
                started = time.perf_counter()
                await read(connection)
                durations.append((time.perf_counter() - started) * 1000)
    everything = [duration for durations in taken for duration in durations]
    worst = max(quantiles(durations, n=100, method="inclusive")[98] for durations in taken)
    return median(everything), worst
