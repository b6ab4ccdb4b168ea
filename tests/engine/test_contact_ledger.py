"""Each final outcome of a hand-over has one row in the contact ledger; temporary ones have none."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.contact.sending.channel import Outcome, Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.ledgers import list_entries, outcomes, seal_and_verify

_DIGESTS = """
SELECT m.state, l.recipient_digest = m.recipient_digest AS recipient,
       l.content_digest = m.content_digest AS content, length(m.content_digest) AS length
FROM contact_ledger l JOIN communications m USING (merchant_id, communication_id)
WHERE merchant_id = $1
"""


async def a_harness_with_answers(
    resources: Resources, clock: MovableClock, *answers: Outcome | Exception, **given: Any
) -> Harness:
    """Return a harness with one claim whose channel gave these answers."""
    channel = ScriptedChannel(list(answers), **given)
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    await harness.create()
    await harness.run()
    return harness


async def test_an_accepted_contact_has_one_row_with_the_digests_of_its_message(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_answers(resources, clock)
    assert await list_entries(harness) == [("ACCEPTED", 1, 0, "EMAIL", 1)]
    assert [tuple(row) for row in await harness.rows(_DIGESTS)] == [("ACCEPTED", True, True, 32)]
    assert (await seal_and_verify(harness)).findings == ()


async def test_temporary_refusals_leave_no_ledger_row(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_answers(resources, clock, Temporary(60), Temporary(60))
    assert await outcomes(harness) == []
    assert (await seal_and_verify(harness)).findings == ()
    clock.advance(timedelta(hours=1))
    await harness.run()
    clock.advance(timedelta(hours=1))
    await harness.run()
    assert await list_entries(harness) == [("ACCEPTED", 1, 0, "EMAIL", 3)]
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_refusal_and_its_fallback_are_two_ledger_rows(
    resources: Resources, clock: MovableClock
) -> None:
    channels = [
        ScriptedChannel([Permanent("gone")]),
        ScriptedChannel(channel="SMS"),
        ScriptedChannel(channel="LETTER"),
    ]
    harness = await a_harness_with_channels(resources, clock, "EMAIL", ["SMS"], channels=channels)
    await harness.create(**REACHABLE)
    await harness.run()
    assert await list_entries(harness) == [
        ("REFUSED", 1, 0, "EMAIL", 1),
        ("ACCEPTED", 1, 1, "SMS", 1),
    ]
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_contact_that_failed_before_it_was_handed_over_has_no_ledger_row(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    await harness.create()
    await harness.run()
    clock.advance(timedelta(days=8))
    await harness.run()
    assert [row["state"] for row in await harness.rows(
        "SELECT state FROM communications WHERE merchant_id = $1")] == ["FAILED"]  # fmt: skip
    assert await outcomes(harness) == []
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_failure_reported_twice_has_one_ledger_row(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_answers(resources, clock)
    [message] = harness.channels[0].sent
    for _ in range(2):
        async with harness.work(SYSTEM) as work:
            await report_failure(work, resources.keys, message.communication_id, "unknown")
    assert await outcomes(harness) == ["ACCEPTED", "FAILED_LATER"]
    assert (await seal_and_verify(harness)).findings == ()


@pytest.mark.parametrize("is_broken_off", [True, False])
async def test_a_contact_in_doubt_is_recorded_once_as_unknown(
    resources: Resources, clock: MovableClock, is_broken_off: bool
) -> None:
    harness = await a_harness_with_answers(resources, clock, TimeoutError(), is_repeatable=False)
    if is_broken_off:
        # Simulate a process that died before it could record the missing answer.
        async with harness.work(SYSTEM) as work:
            await work.tx.execute("DELETE FROM contact_ledger")
            await work.tx.execute(
                "UPDATE communications SET state = 'HANDED_OVER', lease_until = now() - '1 hour'"
                "::interval, lease_id = gen_random_uuid() WHERE merchant_id = $1",
                work.merchant_id,
            )
        clock.move_to(clock.now() + timedelta(days=365))
        await harness.run()
    assert await list_entries(harness) == [("UNKNOWN", 1, 0, "EMAIL", 1)]
    assert len(harness.channels[0].sent) == 1
    assert (await seal_and_verify(harness)).findings == ()
