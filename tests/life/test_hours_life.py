"""The times of steps: contact hours, business days, public holidays by region, start at the due
date, and both changes between winter and summer time."""

from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.lifecycles import (
    FEE,
    a_lifecycle_harness,
    a_process,
    business_days,
    checkpoint,
    contact,
    wait,
)
from tests.support.timeline import list_timeline, run_until_local_time

ITEM: dict[str, Any] = {"reference": "A", "type": "PRIMARY", "value": "5000"}


async def test_a_claim_of_friday_evening_is_contacted_on_monday_morning(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact(), wait(4), FEE, contact(), wait(1))
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-03-06 18:00")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-04-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Mon 09 Mar 09:00 EMAIL",
        "Fri 13 Mar 09:00 fee 250",
        "Fri 13 Mar 09:00 EMAIL",
        "Sat 14 Mar 09:00 archived",
    ]


async def test_immediate_contacts_and_fees_ignore_contact_hours(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact(send="IMMEDIATE"), wait(1), FEE, contact())
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-03-07 23:30")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-04-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Sat 07 Mar 23:30 EMAIL",
        "Sun 08 Mar 23:30 fee 250",
        "Mon 09 Mar 09:00 EMAIL",
        "Mon 09 Mar 09:00 archived",
    ]


@pytest.mark.parametrize(
    ("subdivision", "first", "second"),
    [
        # Reformation Day, a Friday, is a holiday in Hamburg. In Bavaria, All Saints' Day is a
        # Saturday.
        ("HH", "Mon 03 Nov 09:00 EMAIL", "Thu 06 Nov 09:00 EMAIL"),
        ("BY", "Fri 31 Oct 09:00 EMAIL", "Wed 05 Nov 09:00 EMAIL"),
    ],
)
async def test_business_days_skip_the_holidays_of_the_region(
    resources: Resources, clock: MovableClock, subdivision: str, first: str, second: str
) -> None:
    region = {"country": "DE", "subdivision": subdivision}
    process = a_process(contact(), business_days(3), contact(), wait(9), holidays=region)
    harness = await a_lifecycle_harness(resources, clock, process, start="2025-10-30 18:00")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2025-11-10 12:00")
    assert await list_timeline(harness, claim_id) == [first, second]


async def test_business_days_over_easter_skip_four_days(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact(), business_days(2), checkpoint("after Easter"))
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-04-02 16:20")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-04-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Thu 02 Apr 16:20 EMAIL",
        "Wed 08 Apr 16:20 checkpoint after Easter",
        "Wed 08 Apr 16:20 archived",
    ]


@pytest.mark.parametrize(
    ("due_on", "first"),
    [
        ("2026-03-20", "Fri 20 Mar 00:00 checkpoint start"),
        ("2026-03-02", "Mon 02 Mar 10:00 checkpoint start"),
        ("2026-01-15", "Mon 02 Mar 10:00 checkpoint start"),
    ],
)
async def test_a_process_that_starts_at_the_due_date_never_starts_before_assignment(
    resources: Resources, clock: MovableClock, due_on: str, first: str
) -> None:
    process = a_process(checkpoint("start"), contact(), wait(90), processingStart="DUE_DATE")
    harness = await a_lifecycle_harness(resources, clock, process)
    fee = {**ITEM, "type": "DUNNING_FEE", "dueDate": "2026-03-05"}
    later = {**ITEM, "dueDate": "2026-05-01"}
    [claim_id] = await harness.create(items=[fee, {**ITEM, "dueDate": due_on}, later])
    await run_until_local_time(harness, "2026-03-25 12:00")
    assert (await list_timeline(harness, claim_id))[0] == first


async def test_a_daily_step_runs_once_a_day_when_summer_time_begins(
    resources: Resources, clock: MovableClock
) -> None:
    now = {"contactHours": None, "holidays": None}
    process = a_process(*[checkpoint("a"), wait(1)] * 4, **now)
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-03-27 02:30")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-04-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Fri 27 Mar 02:30 checkpoint a",
        "Sat 28 Mar 02:30 checkpoint a",
        "Sun 29 Mar 03:00 checkpoint a",
        "Mon 30 Mar 03:00 checkpoint a",
        "Tue 31 Mar 03:00 archived",
    ]


async def test_a_daily_step_runs_once_a_day_when_summer_time_ends(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(*[checkpoint("a"), wait(1)] * 3, contactHours=None, holidays=None)
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-10-24 02:30")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2026-11-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Sat 24 Oct 02:30 checkpoint a",
        "Sun 25 Oct 02:30 checkpoint a",
        "Mon 26 Oct 02:30 checkpoint a",
        "Tue 27 Oct 02:30 archived",
    ]
