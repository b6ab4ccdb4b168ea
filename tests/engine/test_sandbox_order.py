"""Moving a sandbox clock does what real time would do.

The same things happen to the same claims, at the same instants and in the same order (CONTRACT 12).
"""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

import pytest

from dunwell.cases.intake.create_claims import create_claims
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.operations.sandbox.advance_clock import AdvanceResult, advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, ScriptedChannel, a_harness

DAYS = 30
CLAIMS = 80
PEOPLE = 112
INSTANTS = 9
_STEPS = [*DOCUMENT["steps"][:3], {**DOCUMENT["steps"][0], "id": 7}, *DOCUMENT["steps"][3:]]
_DEFINITION = a_definition(
    settings={**DOCUMENT["settings"], "processingStart": "DUE_DATE"}, steps=_STEPS
)
# Claims arrive some minutes and a second or two apart.
_SPREAD = f"""
UPDATE claims
SET due_at = due_at + (claim_id - $2) % {INSTANTS} * interval '97 minutes 1 second'
WHERE merchant_id = $1
"""
_EVENTS = """
SELECT reference_number, type, occurred_at, body::json->'actionStep'->>'id' AS step
FROM events JOIN claims USING (merchant_id, claim_id)
WHERE merchant_id = $1
ORDER BY {order}
"""
_HISTORY = """
SELECT reference_number, h.run, step_id, outcome, reason, at
FROM step_history h JOIN claims USING (merchant_id, claim_id)
WHERE merchant_id = $1
ORDER BY reference_number, at, step_id
"""
_CONTACTS = """
SELECT reference_number, step_id, state, planned_at, handed_over_at, settled_at
FROM communications JOIN claims USING (merchant_id, claim_id)
WHERE merchant_id = $1
ORDER BY reference_number, step_id
"""


async def a_merchant(
    resources: Resources, clock: MovableClock, key: str, count: int, *, sandbox: bool
) -> Harness:
    """Create a merchant with claims that start on ten dates at many instants; some are on hold, and
    some people owe for two."""
    harness = await a_harness(
        resources, clock, _DEFINITION, key=key, sandbox=sandbox, channels=[ScriptedChannel()]
    )
    async with harness.work() as work:
        results = await create_claims(work, [_submit(n) for n in range(count)])
    ids = [result.claim_id for result in results]
    async with harness.work() as work:
        await work.tx.execute(_SPREAD, work.merchant_id, ids[0])
        for n, claim_id in enumerate(ids[::9]):
            until = work.now + timedelta(hours=n % 11 + 100)
            assert claim_id is not None
            await open_hold(work, claim_id, HoldKind.PAUSE, until=until)
    return harness


def _submit(n: int) -> ClaimSubmission:
    due = f"2026-03-{n % 10 + 1:02}"
    item = {"reference": "A", "type": "PRIMARY", "value": "5000", "dueDate": due}
    return a_submission(f"INV-{n:03}", email=f"person{n % PEOPLE}@example.org", items=[item])


async def advance(harness: Harness, days: int) -> AdvanceResult:
    async with harness.work() as work:
        merchant, end = work.merchant, work.now + timedelta(days=days)
    return await advance_clock(harness.resources, harness.channels, merchant, ERP, end)


async def load_history(harness: Harness) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything that happened to the claims, by reference number."""
    history: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    order = "reference_number, sequence"
    for statement in (_EVENTS.format(order=order), _HISTORY, _CONTACTS):
        for row in await harness.rows(statement):
            history[row["reference_number"]].append(tuple(row))
    return history


async def instants_of(harness: Harness) -> list[datetime]:
    """Return every instant at which something happened."""
    rows = await harness.rows(
        "SELECT at FROM step_history WHERE merchant_id = $1"
        " UNION SELECT unnest(ARRAY[planned_at, handed_over_at, settled_at]) FROM communications"
        " WHERE merchant_id = $1"
        " UNION SELECT lifted_at FROM holds WHERE merchant_id = $1 ORDER BY at"
    )
    return [row["at"] for row in rows if row["at"] is not None]


async def test_one_clock_move_has_the_same_result_as_real_time(
    resources: Resources, clock: MovableClock
) -> None:
    live = await a_merchant(resources, clock, "hansen", CLAIMS, sandbox=False)
    sandbox = await a_merchant(resources, clock, "nordwind", CLAIMS, sandbox=True)
    done = await advance(sandbox, DAYS)
    instants = await instants_of(sandbox)
    for instant in instants:
        clock.move_to(max(clock.now(), instant))
        await live.run()
    history = await load_history(sandbox)
    assert len(history) == CLAIMS
    assert history == await load_history(live)
    [counts] = await sandbox.rows(
        "SELECT count(*) AS events, count(DISTINCT occurred_at) AS instants FROM events"
        " WHERE merchant_id = $1"
    )
    assert done.events_raised == counts["events"] == 5 * CLAIMS
    assert counts["instants"] > 50


async def test_events_are_listed_in_the_order_of_their_dates(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_merchant(resources, clock, "nordwind", 60, sandbox=True)
    await advance(harness, DAYS)
    rows = await harness.rows(_EVENTS.format(order="events.written_by, event_id"))
    dates = [row["occurred_at"] for row in rows]
    assert dates == sorted(dates)
    assert len(dates) == 300


async def test_steps_and_events_of_workers_count_towards_the_clock_move(
    resources: Resources, clock: MovableClock
) -> None:
    """Workers run during the move, and their work counts as a part of it."""
    harness = await a_harness(resources, clock, a_definition(), sandbox=True)
    await harness.create("A", "B")
    first = await advance(harness, 0)
    assert (first.steps_run, first.events_raised) == (4, 2)
    await harness.create("C")
    assert await Engine(resources).run_once() == 1
    dispatcher = MessageDispatcher(resources, harness.channels)
    assert await dispatcher.run_merchant(harness.merchant.merchant_id) == 1
    await dispatcher.close()
    second = await advance(harness, 7)
    assert (second.steps_run, second.events_raised) == (1 + 3 * 3, 2 * 3)


@pytest.mark.parametrize("days", [0, 1])
async def test_a_clock_move_without_due_steps_counts_nothing(
    resources: Resources, clock: MovableClock, days: int
) -> None:
    harness = await a_harness(resources, clock, a_definition(), sandbox=True)
    await harness.create()
    await advance(harness, 0)
    done = await advance(harness, days)
    assert (done.steps_run, done.events_raised) == (0, 0)
