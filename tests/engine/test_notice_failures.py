"""A notice that is refused or bounces is marked as failed, reported and counted."""

from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.adapters.channels.outbox.channel import OutboxEmail, report_late_failures
from dunwell.contact.notices.notice_outcomes import report_notice_failure, sweep_notices
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from tests.support.harness import ScriptedChannel
from tests.support.notices import NoticeHarness, a_notice_harness

_BOUNCING = "erika+fail-later@example.org"
_TOLD = "The outbox simulated a late failure."
_STANDS = """
UPDATE debtor_notices SET state = $2, settled_at = $3, due_at = $4 WHERE merchant_id = $1
"""


def _count_unsent(outcome: str, kind: str = "CODE") -> float:
    labels = {"kind": kind, "channel": "EMAIL", "outcome": outcome}
    return REGISTRY.get_sample_value("dunwell_notices_unsent_total", labels) or 0


async def _bounce(notice_harness: NoticeHarness) -> UUID:
    notice_id = await notice_harness.request(recipient=_BOUNCING)
    await notice_harness.run(
        OutboxEmail(notice_harness.harness.resources.settings.data_dir, is_development=True)
    )
    return notice_id


async def test_a_bounced_notice_is_failed_once_with_its_reason(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness, before = await a_notice_harness(resources, clock), _count_unsent("FAILED_LATER")
    await _bounce(notice_harness)
    assert await notice_harness.states() == [("ACCEPTED", None)]
    clock.advance(timedelta(seconds=3))

    reported = [await report_late_failures(resources) for _ in range(2)]

    assert reported == [1, 0]
    assert await notice_harness.states() == [("FAILED", _TOLD)]
    [row] = await notice_harness.rows()
    assert (row["settled_at"], row["due_at"]) == (clock.now(), None)
    assert _count_unsent("FAILED_LATER") == before + 1
    audited = await notice_harness.harness.rows(
        "SELECT subject, details FROM audit_log WHERE merchant_id = $1 AND action = 'notice.fail'"
    )
    assert [row["subject"] for row in audited] == [f"claim:{notice_harness.claim_id}"]


async def test_a_failure_report_waits_until_the_answer_of_the_channel_is_recorded(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness, now = await a_notice_harness(resources, clock), clock.now()
    await _bounce(notice_harness)
    await notice_harness.harness.rows(_STANDS, "HANDED_OVER", None, now)

    early = await report_late_failures(resources)
    await notice_harness.harness.rows(_STANDS, "ACCEPTED", now, None)

    assert (early, await report_late_failures(resources)) == (0, 1)
    assert await notice_harness.states() == [("FAILED", _TOLD)]


async def test_a_failure_report_settles_a_notice_in_doubt(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    await notice_harness.harness.rows(_STANDS, "UNKNOWN", clock.now(), None)

    for reason in ("550 no such user", "451 try again"):
        async with notice_harness.harness.work() as work:
            await report_notice_failure(work, notice_id, reason)

    assert await notice_harness.states() == [("FAILED", "550 no such user")]


async def test_a_bounced_notice_is_failed_after_its_content_was_deleted(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await _bounce(notice_harness)
    clock.advance(timedelta(days=8))
    assert await sweep_notices(resources) == 1

    await report_late_failures(resources)

    assert await notice_harness.states() == [("FAILED", _TOLD)]


async def test_a_failure_report_of_an_unsent_unknown_or_foreign_notice_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    other = await a_notice_harness(resources, clock, key="other")

    for asked, named, refusal in (
        (notice_harness, notice_id, InvalidState),
        (other, notice_id, NotFound),
        (notice_harness, UUID(int=7), NotFound),
    ):
        async with asked.harness.work() as work:
            with pytest.raises(refusal):
                await report_notice_failure(work, named, "late")

    assert await notice_harness.states() == [("PLANNED", None)]


async def test_refused_notices_and_notices_in_doubt_are_counted_by_kind_and_channel(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    before = [_count_unsent("FAILED"), _count_unsent("UNKNOWN"), _count_unsent("FAILED_LATER")]
    for answer in (Permanent("no such mailbox"), ConnectionResetError()):
        await notice_harness.request()
        channel = ScriptedChannel([answer])
        channel.is_repeatable = False
        await notice_harness.run(channel)

    assert await notice_harness.states() == [("FAILED", "no such mailbox"), ("UNKNOWN", None)]
    after = [_count_unsent("FAILED"), _count_unsent("UNKNOWN"), _count_unsent("FAILED_LATER")]
    assert after == [before[0] + 1, before[1] + 1, before[2]]
