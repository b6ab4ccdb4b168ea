"""Reports of channels after they accepted a message: late, repeated, in any order, about unknown
messages."""

import asyncio
from datetime import timedelta
from itertools import permutations
from uuid import UUID

import pytest

from dunwell.contact.escalation.reports.delivery_reports import (
    process_reports,
    query_unknown_outcomes,
)
from dunwell.contact.escalation.reports.store import list_unknown_messages, lock_report
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import Accepted
from dunwell.contact.sending.report import Reference
from dunwell.contact.sending.store import lock_due_reports
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import a_harness_with_a_provider, report
from tests.support.harness import Harness, QueryableDeliveryProvider, ScriptedDeliveryProvider

_CONTACTS = """
SELECT channel, state, failure, provider, provider_response, delivered_at IS NOT NULL
FROM communications
WHERE merchant_id = $1 ORDER BY planned_at, place
"""
_OUTCOMES = "SELECT outcome, due_at FROM delivery_reports WHERE $1 > 0 ORDER BY received_at"
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"
_SPOIL = """
UPDATE communication_contents SET recipient = 'nobody'
WHERE merchant_id = $1 AND communication_id = $2
RETURNING recipient
"""


async def a_sent_contact(
    resources: Resources, clock: MovableClock, provider: ScriptedDeliveryProvider | None = None
) -> tuple[Harness, ScriptedDeliveryProvider]:
    provider = provider or ScriptedDeliveryProvider(answers=[Accepted("250 queued as 4X")])
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(mobileNumber="+4915112345678")
    await harness.run()
    return harness, provider


async def process_reports_and_run(harness: Harness) -> None:
    await process_reports(harness.resources)
    await harness.run()


async def contacts(harness: Harness) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def outcomes(harness: Harness) -> list[str]:
    return [row["outcome"] for row in await harness.rows(_OUTCOMES)]


async def test_the_provider_and_its_answer_are_stored(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await a_sent_contact(resources, clock)
    assert await contacts(harness) == [
        ("EMAIL", "ACCEPTED", None, "post", "250 queued as 4X", False)
    ]


async def test_a_delivery_report_is_recorded_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    assert await report(harness, provider, state="DELIVERED", reason="")
    assert not await report(harness, provider, state="DELIVERED", reason="")
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["DELIVERED"]
    [contact] = await contacts(harness)
    assert contact[-1]
    assert await process_reports(resources) == 0


async def test_a_bounce_reported_twice_starts_the_next_channel_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    for number in ("1", "1", "2"):
        await report(harness, provider, provider_message_id=number)
        await process_reports_and_run(harness)
    assert [row[:2] for row in await contacts(harness)] == [
        ("EMAIL", "FAILED"), ("SMS", "ACCEPTED"),
    ]  # fmt: skip
    assert await outcomes(harness) == ["FAILED", "IGNORED"]
    assert len(harness.channels[0].sent) == 1


@pytest.mark.parametrize(
    ("cause", "suppressed"),
    [("ADDRESS", [("EMAIL", "BOUNCE")]), ("ABOUT_US", []), ("OTHER", [])],
)
async def test_only_a_bounce_caused_by_the_address_suppresses_it(
    resources: Resources, clock: MovableClock, cause: str, suppressed: list[tuple[str, str]]
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await report(harness, provider, cause=cause)
    await process_reports_and_run(harness)
    assert [tuple(row) for row in await harness.rows(_SUPPRESSED)] == suppressed


@pytest.mark.parametrize("order", list(permutations(["DELIVERED", "FAILED", "DELAYED"])))
async def test_a_delivered_report_wins_over_failures_of_the_same_batch(
    resources: Resources, clock: MovableClock, order: tuple[str, ...]
) -> None:
    """Between two batches, a failure that was processed first stays, because a fallback has
    started."""
    harness, provider = await a_sent_contact(resources, clock)
    for number, state in enumerate(order):
        await report(harness, provider, provider_message_id=str(number), state=state)
    await process_reports_and_run(harness)
    assert [row[1] for row in await contacts(harness)] == ["ACCEPTED"]


async def test_a_return_after_a_delivery_fails_the_contact(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await report(harness, provider, state="DELIVERED")
    await process_reports_and_run(harness)
    await report(harness, provider, state="FAILED")
    await process_reports_and_run(harness)
    assert [row[1] for row in await contacts(harness)] == ["ACCEPTED"]
    await report(harness, provider, state="RETURNED")
    await process_reports_and_run(harness)
    assert [row[1] for row in await contacts(harness)] == ["FAILED", "ACCEPTED"]


async def test_a_report_about_an_unknown_message_is_kept_without_effect(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    before = await contacts(harness)
    foreign = Reference(harness.merchant.merchant_id + 1, provider.sent[0].communication_id)
    unknown = Reference(harness.merchant.merchant_id, UUID(int=5))
    for number, reference in enumerate((None, foreign, unknown)):
        await report(harness, provider, provider_message_id=str(number), reference=reference)
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["UNMATCHED"] * 3
    assert await contacts(harness) == before


async def test_a_report_by_another_provider_has_no_effect(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await report(harness, provider, provider="texts")
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["UNMATCHED"]
    assert [row[1] for row in await contacts(harness)] == ["ACCEPTED"]


async def test_a_report_waits_until_the_answer_is_recorded(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await harness.rows(
        "UPDATE communications SET state = 'HANDED_OVER' WHERE merchant_id = $1 RETURNING state"
    )
    await report(harness, provider)
    await process_reports(resources)
    assert await outcomes(harness) == ["WAITING"]
    await harness.rows(
        "UPDATE communications SET state = 'ACCEPTED' WHERE merchant_id = $1 RETURNING state"
    )
    clock.advance(timedelta(seconds=4.9))
    assert await process_reports(resources) == 0
    clock.advance(timedelta(seconds=0.1))
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["FAILED"]


async def test_a_report_waits_at_most_a_day_for_the_answer(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await harness.rows(
        "UPDATE communications SET state = 'HANDED_OVER' WHERE merchant_id = $1 RETURNING state"
    )
    await report(harness, provider)
    clock.advance(timedelta(hours=23.9))
    await process_reports(resources)
    assert await process_reports(resources) == 0
    clock.advance(timedelta(hours=0.1))
    assert await process_reports(resources) == 1
    clock.advance(timedelta(hours=1))
    assert await process_reports(resources) == 0
    assert await outcomes(harness) == ["UNMATCHED"]


@pytest.mark.parametrize(
    ("state", "expected"),
    [("DELIVERED", ["ACCEPTED"]), ("FAILED", ["FAILED", "ACCEPTED"])],
)
async def test_a_delivery_report_settles_a_message_in_doubt(
    resources: Resources, clock: MovableClock, state: str, expected: list[str]
) -> None:
    """The message was in doubt; the report proves that it was sent."""
    provider = ScriptedDeliveryProvider(answers=[OSError("no answer")])
    harness, provider = await a_sent_contact(resources, clock, provider)
    assert [row[1] for row in await contacts(harness)] == ["UNKNOWN"]
    await report(harness, provider, state=state)
    await process_reports_and_run(harness)
    assert [row[1] for row in await contacts(harness)] == expected
    assert len(provider.sent) == 1


@pytest.mark.parametrize(("was_sent", "sends"), [(True, 1), (False, 2)])
async def test_a_provider_that_can_be_queried_settles_a_message_in_doubt(
    resources: Resources, clock: MovableClock, was_sent: bool, sends: int
) -> None:
    provider = QueryableDeliveryProvider(answers=[OSError("no answer")])
    harness, _ = await a_sent_contact(resources, clock, provider)
    adapters = Adapters(harness.channels, harness.delivery_providers.get)
    clock.advance(timedelta(minutes=3))
    assert await query_unknown_outcomes(resources, adapters) == 0
    provider.outcomes[provider.sent[0].communication_id] = was_sent
    assert await query_unknown_outcomes(resources, adapters) == 1
    await harness.run()
    assert [row[1] for row in await contacts(harness)] == ["ACCEPTED"]
    assert len(provider.sent) == sends


async def test_a_message_in_doubt_is_queried_after_two_minutes(
    resources: Resources, clock: MovableClock
) -> None:
    provider = QueryableDeliveryProvider(answers=[OSError("no answer")])
    harness, _ = await a_sent_contact(resources, clock, provider)
    provider.outcomes[provider.sent[0].communication_id] = True
    adapters = Adapters(harness.channels, harness.delivery_providers.get)
    clock.advance(timedelta(minutes=2))
    assert await query_unknown_outcomes(resources, adapters) == 0
    clock.advance(timedelta(seconds=0.001))
    assert await query_unknown_outcomes(resources, adapters) == 1


async def test_a_report_that_another_worker_has_locked_is_skipped(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(resources, clock)
    await report(harness, provider)
    async with resources.database.transaction() as tx:
        [waiting] = await lock_due_reports(tx, clock.now(), 10)
        assert await process_reports(resources) == 0
        async with resources.database.transaction() as other:
            assert not await lock_report(other, waiting.report_id)
    await asyncio.gather(*(process_reports(resources) for _ in range(4)))
    await harness.run()
    assert [row[1] for row in await contacts(harness)] == ["FAILED", "ACCEPTED"]
    assert await outcomes(harness) == ["FAILED"]


async def test_a_report_that_cannot_be_processed_does_not_hold_up_others(
    resources: Resources, clock: MovableClock
) -> None:
    """Its address is invalid: the report is retried for a day and then left to a person."""
    harness, provider = await a_sent_contact(resources, clock)
    await harness.create("R-2", email="other@example.org", mobileNumber="+4915112345679")
    await harness.run()
    await harness.rows(_SPOIL, provider.sent[0].communication_id)
    for number, sent in enumerate(provider.sent):
        named = Reference(harness.merchant.merchant_id, sent.communication_id)
        await report(
            harness, provider, provider_message_id=str(number), reference=named, cause="ADDRESS"
        )
        clock.advance(timedelta(microseconds=1))
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["WAITING", "FAILED"]
    clock.advance(timedelta(days=1))
    await process_reports_and_run(harness)
    assert await outcomes(harness) == ["UNMATCHED", "FAILED"]
    assert await process_reports(resources) == 0


async def test_a_provider_is_queried_only_about_its_own_messages(
    resources: Resources, clock: MovableClock
) -> None:
    harness, provider = await a_sent_contact(
        resources, clock, QueryableDeliveryProvider(answers=[OSError("x")])
    )
    later = clock.now() + timedelta(hours=1)
    merchant_id = harness.merchant.merchant_id
    async with resources.database.connection() as connection:
        of_email = await list_unknown_messages(connection, merchant_id, "EMAIL", later, 10)
        of_letters = await list_unknown_messages(connection, merchant_id, "LETTER", later, 10)
    assert (of_email, of_letters) == ([provider.sent[0].communication_id], [])
