"""The preview of a draft matches what happens after the draft is published."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.cases.rollout.preview.effects import PreviewOutlook, PreviewScope
from dunwell.cases.rollout.preview.preview_draft import preview_draft
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.operations.sandbox.advance_clock import advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import snapshot
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, a_harness
from tests.support.merchants import CONFIGURATION

# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAYS = 40
EMAIL = DOCUMENT["steps"][0]
STEPS = [
    EMAIL,
    {"id": 2, "name": "Wait a week", "kind": "WAIT", "days": 7},
    {"id": 3, "name": "Dunning fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "250"},
    {**EMAIL, "id": 4, "name": "Second", "when": {"outstanding": {"min": "10000"}}},
    {"id": 5, "name": "Wait some days", "kind": "WAIT", "businessDays": 2},
    {**EMAIL, "id": 6, "name": "Third", "send": "IMMEDIATE"},
    {"id": 7, "name": "Last wait", "kind": "WAIT", "days": 20},
]
CHANGED = [
    {**EMAIL, "send": "IMMEDIATE"}, STEPS[1], {**STEPS[2], "value": "400"}, *STEPS[3:],
]  # fmt: skip

_SENT = "SELECT channel, settled_at FROM communications WHERE merchant_id = $1"
_FEES = """
SELECT sum(i.value_cents) AS cents FROM items i JOIN debtors d USING (merchant_id, claim_id)
WHERE i.merchant_id = $1 AND i.type = 'DUNNING_FEE' GROUP BY d.customer_number
"""
_ARCHIVED = "SELECT FROM claims WHERE merchant_id = $1 AND status = 'ARCHIVED'"


async def a_running_harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return a harness of persons with one, two and four claims, some contacted before, with quiet
    evenings."""
    clock.move_to(START)
    guards = Guards(quiet_hours=QuietHours("19:00", "08:30"))
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    definition = a_definition(steps=STEPS)
    harness = await a_harness(
        resources, clock, definition, sandbox=True, configuration=configuration
    )
    await harness.create("A-1", "A-2", "A-3", "A-4", customerNumber="K-1")
    await harness.create("B-1", "B-2", customerNumber="K-2", email="b@example.org")
    await harness.create("C-1", customerNumber="K-3", email=None)
    await harness.create("D-1", customerNumber="K-4", items=[{**_ITEM, "value": "900"}])
    evening = START + timedelta(hours=11)
    await advance_clock(resources, harness.channels, harness.merchant, ERP, evening)
    await harness.create("E-1", customerNumber="K-5")
    return harness


_ITEM = {"reference": "D-1", "type": "PRIMARY", "dueDate": "2026-03-09"}


async def foresee(harness: Harness, workflow_id: Any) -> PreviewOutlook:
    resources = harness.resources
    async with harness.work() as work:
        merchant = work.merchant
    async with resources.database.connection() as connection, snapshot(connection):
        reading = Work.open(resources, connection, merchant, ERP)
        seen = await preview_draft(reading, resources.keys, workflow_id, PreviewScope(days=DAYS))
    assert seen.effects.outlook is not None
    return seen.effects.outlook


async def test_the_preview_of_a_draft_matches_what_happens_after_publishing(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_running_harness(resources, clock)
    before = len(await harness.rows(_SENT + " AND state = 'ACCEPTED'"))
    async with harness.work() as work:
        draft = await save_draft(work, "Standard", a_definition(steps=CHANGED))
    outlook = await foresee(harness, draft.workflow_id)
    async with harness.work() as work:
        await publish_draft(work, draft.workflow_id)
        now, merchant = work.now, work.merchant
    end = now + timedelta(days=DAYS)
    await advance_clock(resources, harness.channels, merchant, ERP, end)
    sent = [r for r in await harness.rows(_SENT) if r["settled_at"] and r["settled_at"] >= now]
    zone = ZoneInfo("Europe/Berlin")
    days = Counter((r["settled_at"].astimezone(zone).date(), r["channel"]) for r in sent)
    assert days == outlook.contacts
    sums = Counter(row["cents"] for row in await harness.rows(_FEES))
    assert sums == outlook.fee_sums
    assert len(await harness.rows(_ARCHIVED)) == outlook.archived == 7
    assert before == 3
    assert sum(outlook.held_back.values()) > 0
