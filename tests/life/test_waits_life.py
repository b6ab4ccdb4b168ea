"""When a wait starts and ends: after a delayed contact, after a letter, and over holidays."""

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import LetterSettings
from dunwell.accounts.merchants.store import save_configuration
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE
from tests.support.harness import Harness
from tests.support.lifecycles import (
    FEE,
    a_lifecycle_harness,
    a_workflow,
    business_days,
    checkpoint,
    contact,
    wait,
)
from tests.support.timeline import list_timeline, run_until_local_time


async def set_postal_days(harness: Harness, postal_days: int) -> None:
    """Change the setting as an operator does while claims are in process."""
    configuration = msgspec.structs.replace(
        harness.merchant.configuration, letters=LetterSettings(postal_days)
    )
    async with harness.work() as work:
        await save_configuration(work.tx, work.merchant_id, work.merchant.name, configuration)


async def test_the_wait_after_a_returned_letter_starts_with_the_fallback_email(
    resources: Resources, clock: MovableClock
) -> None:
    workflow = a_workflow(contact("LETTER", "EMAIL"), wait(7), FEE, wait(30))
    harness = await a_lifecycle_harness(resources, clock, workflow, start="2026-02-27 10:00")
    [claim_id] = await harness.create(**REACHABLE)
    await harness.run()
    [letter] = [m for each in harness.channels for m in each.sent if each.channel == "LETTER"]
    await run_until_local_time(harness, "2026-03-03 10:00")
    async with harness.work() as work:
        await report_failure(work, resources.keys, letter.communication_id, "moved away")
    await run_until_local_time(harness, "2026-03-20 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Fri 27 Feb 10:00 LETTER",
        "Tue 03 Mar 10:00 EMAIL",
        "Tue 10 Mar 10:00 fee 250",
    ]


async def test_a_wait_that_has_started_keeps_its_end_when_the_setting_changes(
    resources: Resources, clock: MovableClock
) -> None:
    workflow = a_workflow(contact("LETTER"), wait(7), FEE, wait(30))
    harness = await a_lifecycle_harness(resources, clock, workflow, start="2026-02-27 10:00")
    [started] = await harness.create(**REACHABLE)
    await harness.run()
    await set_postal_days(harness, 5)
    [later] = await harness.create("INV-2", email="b@example.org", address=REACHABLE["address"])
    await run_until_local_time(harness, "2026-03-20 12:00")
    assert (await list_timeline(harness, started))[-1] == "Mon 09 Mar 10:00 fee 250"
    # Five postal days after Friday is Thursday, 5 March.
    assert (await list_timeline(harness, later))[-1] == "Thu 12 Mar 10:00 fee 250"


async def test_the_wait_after_a_delayed_contact_starts_when_it_is_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_lifecycle_harness(
        resources, clock, a_workflow(contact(), wait(2), checkpoint("two days on"))
    )
    first, second = await harness.create("A", "B", email="erika@example.org")
    await run_until_local_time(harness, "2026-06-30 12:00")
    assert (await list_timeline(harness, first))[1] == "Wed 04 Mar 10:00 checkpoint two days on"
    assert (await list_timeline(harness, second))[:2] == [
        "Tue 03 Mar 09:00 EMAIL",
        "Thu 05 Mar 09:00 checkpoint two days on",
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
    workflow = a_workflow(contact(), business_days(3), contact(), wait(9), holidays=region)
    harness = await a_lifecycle_harness(resources, clock, workflow, start="2025-10-30 18:00")
    [claim_id] = await harness.create()
    await run_until_local_time(harness, "2025-11-10 12:00")
    assert await list_timeline(harness, claim_id) == [first, second]
