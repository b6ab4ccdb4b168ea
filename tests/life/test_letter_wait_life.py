"""Waits after letters start on the day by which the letter can have arrived."""

import msgspec

from dunwell.accounts.merchants.configuration import LetterSettings
from dunwell.accounts.merchants.store import save_configuration
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE
from tests.support.harness import Harness
from tests.support.lifecycles import FEE, a_lifecycle_harness, a_process, checkpoint, contact, wait
from tests.support.timeline import list_timeline, run_until_local_time


async def set_postal_days(harness: Harness, postal_days: int) -> None:
    """Change the setting as an operator does while claims are in process."""
    configuration = msgspec.structs.replace(
        harness.merchant.configuration, letters=LetterSettings(postal_days)
    )
    async with harness.work() as work:
        await save_configuration(work.tx, work.merchant_id, work.merchant.name, configuration)


async def test_the_wait_after_a_letter_starts_two_postal_days_later(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact("LETTER"), checkpoint("posted"), wait(7), FEE, contact(), wait(7))
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-02-27 10:00")
    [claim_id] = await harness.create(**REACHABLE)
    await run_until_local_time(harness, "2026-04-30 12:00")
    assert await list_timeline(harness, claim_id) == [
        "Fri 27 Feb 10:00 LETTER",
        "Fri 27 Feb 10:00 checkpoint posted",
        # The letter can have arrived by Monday, 2 March.
        "Mon 09 Mar 10:00 fee 250",
        "Mon 09 Mar 10:00 EMAIL",
        "Mon 16 Mar 10:00 archived",
    ]


async def test_the_wait_after_a_returned_letter_starts_with_the_fallback_email(
    resources: Resources, clock: MovableClock
) -> None:
    process = a_process(contact("LETTER", "EMAIL"), wait(7), FEE, wait(30))
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-02-27 10:00")
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
    process = a_process(contact("LETTER"), wait(7), FEE, wait(30))
    harness = await a_lifecycle_harness(resources, clock, process, start="2026-02-27 10:00")
    [started] = await harness.create(**REACHABLE)
    await harness.run()
    await set_postal_days(harness, 5)
    [later] = await harness.create("INV-2", email="b@example.org", address=REACHABLE["address"])
    await run_until_local_time(harness, "2026-03-20 12:00")
    assert (await list_timeline(harness, started))[-1] == "Mon 09 Mar 10:00 fee 250"
    # Five postal days after Friday is Thursday, 5 March.
    assert (await list_timeline(harness, later))[-1] == "Thu 12 Mar 10:00 fee 250"
