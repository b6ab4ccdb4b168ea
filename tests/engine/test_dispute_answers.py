"""The debtor is notified of the answer to a dispute, and the claim rests for some days after it."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import DisputeSettings
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.notices.notice_outcomes import report_notice_failure
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, resolve, withdraw
from tests.support.harness import ERP, Harness, ScriptedChannel, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.notice_sending import send_due_notices
from tests.support.notices import WITH_SMS

DAY = timedelta(days=1)
MOBILE = {"mobileNumber": "+4915112345678"}


async def _a_disputed_claim(
    resources: Resources, clock: MovableClock, **given: Any
) -> tuple[Harness, Any]:
    """Return a harness and an open dispute; `given` holds arguments of `a_harness` and the claim's
    fields."""
    fields = given.pop("fields", {})
    channels = [ScriptedChannel(), ScriptedChannel(channel="SMS")]
    harness = await a_harness(
        resources,
        clock,
        a_definition(),
        **{"configuration": WITH_SMS, "channels": channels} | given,
    )
    [claim_id] = await harness.create(**fields)
    opened = await dispute(harness, claim_id)
    # The confirmation that the dispute was received is sent first.
    await send_due_notices(harness)
    for channel in harness.channels:
        channel.sent.clear()
    return harness, opened


async def _hold_ends(harness: Harness, claim_id: int) -> list[datetime | None]:
    return [hold.until for hold in (await harness.read(claim_id)).holds]


def _sent(harness: Harness) -> list[tuple[str, str | None]]:
    return [(each.channel, each.subject) for channel in harness.channels for each in channel.sent]


async def test_the_answer_goes_out_with_its_reason_and_a_link(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    await answer(harness, opened, REJECTED, message="The voucher had run out.")
    [email] = harness.channels[0].sent
    assert email.subject == "Die Antwort von Nordwind auf Ihren Einwand"
    assert "The voucher had run out." in email.body_text
    assert "In den nächsten 7 Tagen" in email.body_text
    assert "/q/" in email.body_text
    assert "_token_" not in email.body_text


async def test_the_claim_is_held_without_end_until_a_channel_has_the_answer(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    harness.channels[0].answers = [Temporary(3600)]
    await answer(harness, opened, REJECTED)
    assert await _hold_ends(harness, opened.claim_id) == [None]
    clock.advance(timedelta(hours=2))
    await send_due_notices(harness)
    assert await _hold_ends(harness, opened.claim_id) == [clock.now() + 7 * DAY]


async def test_the_merchant_configures_the_number_of_quiet_days(
    resources: Resources, clock: MovableClock
) -> None:
    quiet = msgspec.structs.replace(
        CONFIGURATION, disputes=DisputeSettings(quiet_days_after_answer=3)
    )
    harness, opened = await _a_disputed_claim(resources, clock, configuration=quiet)
    await answer(harness, opened, ACCEPTED, end_claim=False)
    assert await _hold_ends(harness, opened.claim_id) == [clock.now() + 3 * DAY]


async def test_the_quiet_days_count_from_the_answer_when_its_notice_expires(
    resources: Resources, clock: MovableClock
) -> None:
    """The notice expires after a day and there is no other channel, so the days count from the
    answer."""
    harness, opened = await _a_disputed_claim(resources, clock)
    harness.channels[0].answers = [Temporary(3600)] * 1000
    resolved = await resolve(harness, opened, REJECTED)
    for _ in range(20):
        await send_due_notices(harness)
        assert await _hold_ends(harness, opened.claim_id) == [None]
        clock.advance(timedelta(hours=1))
    clock.advance(6 * timedelta(hours=1))
    await send_due_notices(harness)
    assert resolved.resolved_at is not None
    assert await _hold_ends(harness, opened.claim_id) == [resolved.resolved_at + 7 * DAY]


@pytest.mark.parametrize("why", ["refused", "suppressed", "no address"])
async def test_the_answer_goes_by_sms_when_email_does_not_work(
    resources: Resources, clock: MovableClock, why: str
) -> None:
    fields = MOBILE | ({"email": None} if why == "no address" else {})
    harness, opened = await _a_disputed_claim(resources, clock, fields=fields)
    if why == "refused":
        harness.channels[0].answers = [Permanent("no such mailbox")]
    if why == "suppressed":
        async with harness.work() as work:
            await suppress(work, resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    await answer(harness, opened, REJECTED)
    [sms] = harness.channels[1].sent
    assert "Nordwind" in sms.body_text
    assert await _hold_ends(harness, opened.claim_id) == [clock.now() + 7 * DAY]


async def test_the_quiet_days_count_from_the_answer_when_the_debtor_is_unreachable(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock, fields={"email": None})
    resolved = await resolve(harness, opened, REJECTED)
    clock.advance(DAY)
    await send_due_notices(harness)
    assert _sent(harness) == []
    assert resolved.resolved_at is not None
    assert await _hold_ends(harness, opened.claim_id) == [resolved.resolved_at + 7 * DAY]


async def test_the_quiet_days_count_from_the_answer_when_the_notice_is_in_doubt(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel(is_repeatable=False)
    harness, opened = await _a_disputed_claim(resources, clock, channels=[channel])
    channel.answers = [RuntimeError("lost")]
    resolved = await resolve(harness, opened, REJECTED)
    clock.advance(timedelta(hours=1))
    await send_due_notices(harness)
    assert len(channel.sent) == 1
    assert resolved.resolved_at is not None
    assert await _hold_ends(harness, opened.claim_id) == [resolved.resolved_at + 7 * DAY]


async def test_an_accepted_dispute_is_confirmed_and_the_claim_withdrawn(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    await answer(harness, opened, ACCEPTED)
    [email] = harness.channels[0].sent
    assert "Sie hatten recht" in email.body_text
    assert "In den nächsten" not in email.body_text
    claim = await harness.read(opened.claim_id)
    assert (claim.status, claim.holds) == (Status.WITHDRAWN, [])


async def test_a_withdrawn_dispute_gets_no_answer(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    await withdraw(harness, opened)
    await send_due_notices(harness)
    assert _sent(harness) == []
    assert (await harness.read(opened.claim_id)).holds == []


async def test_in_a_sandbox_the_days_count_from_the_answer(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock, sandbox=True)
    resolved = await resolve(harness, opened, REJECTED)
    assert resolved.resolved_at is not None
    ends = [resolved.resolved_at + 7 * DAY]
    assert await _hold_ends(harness, opened.claim_id) == ends
    await send_due_notices(harness)
    assert (await _hold_ends(harness, opened.claim_id), len(_sent(harness))) == (ends, 1)


async def test_a_second_open_dispute_keeps_the_claim_on_hold(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    await dispute(harness, opened.claim_id, "DEFECTIVE", "a hole", actor=ERP)
    await answer(harness, opened, REJECTED)
    await harness.run_until(clock.now() + 8 * DAY)
    assert [hold.kind for hold in (await harness.read(opened.claim_id)).holds] == [HoldKind.DISPUTE]
    assert {subject for _, subject in _sent(harness)} == {
        "Ihr Einwand ist bei Nordwind eingegangen", "Die Antwort von Nordwind auf Ihren Einwand",
    }  # fmt: skip


async def test_an_answer_that_bounced_is_sent_by_the_next_channel(
    resources: Resources, clock: MovableClock
) -> None:
    """The bounce arrives after the answer counted as sent: the quiet days start again with the
    channel that worked."""
    harness, opened = await _a_disputed_claim(resources, clock, fields=MOBILE)
    await answer(harness, opened, REJECTED)
    [email] = harness.channels[0].sent
    clock.advance(2 * DAY)
    async with harness.work() as work:
        await report_notice_failure(work, email.communication_id, "550 no such user")
    harness.channels[1].answers = [Temporary(3600)]
    await send_due_notices(harness)
    assert await _hold_ends(harness, opened.claim_id) == [None]
    clock.advance(timedelta(hours=2))
    await send_due_notices(harness)
    assert await _hold_ends(harness, opened.claim_id) == [clock.now() + 7 * DAY]
    async with harness.work() as work:
        await report_notice_failure(work, email.communication_id, "550 once more")
    await send_due_notices(harness)
    assert [channel for channel, _ in _sent(harness)] == ["EMAIL", "SMS", "SMS"]
