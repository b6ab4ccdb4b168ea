"""The answer to a dispute, or the end of a plan, bounces after its quiet days.

The claim is on hold again until the message was sent by the next channel and the days have passed.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.modalities.limits import PlanTerms
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.contact.notices.notice_outcomes import report_notice_failure, sweep_notices
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import REJECTED, answer, dispute, read_disputes
from tests.support.durations import JUST
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.modalities import OFFERING, PLAN, Arrangement
from tests.support.notice_sending import a_notice_writer, send_due_notices

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MOBILE = "+4915112345678"
# Sent together with the confirmation, in either order.
ANSWER = "auf Ihren Einwand"
END_OF_PLAN = "Ihre Ratenzahlung mit Nordwind ist beendet"
WITH_SMS = msgspec.structs.replace(
    OFFERING, channels=OFFERING.channels | {"SMS": ChannelSetup(adapter="outbox")}
)
_FEES = "SELECT count(*) AS fees FROM items WHERE merchant_id = $1 AND type = 'DUNNING_FEE'"


async def _a_harness(resources: Resources, clock: MovableClock) -> tuple[Harness, int]:
    """Return a harness whose claim got its first message; the fee of the second step is due in a
    week."""
    channels = [ScriptedChannel(), ScriptedChannel(channel="SMS")]
    harness = await a_harness(
        resources, clock, a_definition(), configuration=WITH_SMS, channels=channels
    )
    [claim_id] = await harness.create(mobileNumber=MOBILE)
    await harness.run()
    return harness, claim_id


async def _holds(harness: Harness, claim_id: int) -> list[tuple[HoldKind, datetime | None]]:
    return [(hold.kind, hold.until) for hold in (await harness.read(claim_id)).holds]


async def _fees(harness: Harness) -> int:
    [row] = await harness.rows(_FEES)
    return int(row["fees"])


async def _bounce(harness: Harness, subject: str) -> None:
    """Report the last e-mail with this subject as bounced."""
    *_, email = [each for each in harness.channels[0].sent if subject in (each.subject or "")]
    async with harness.work() as work:
        await report_notice_failure(work, email.communication_id, "550 no such user")


async def _answer_and_pass_quiet_days(harness: Harness, claim_id: int) -> Any:
    """Answer a dispute and pass its quiet days by an hour, while the workflow waits for its
    fee step."""
    opened = await dispute(harness, claim_id)
    await answer(harness, opened, REJECTED)
    await harness.run_until(harness.clock.now() + 7 * DAY + HOUR)
    assert await _holds(harness, claim_id) == []
    return opened


async def test_a_bounced_answer_holds_the_claim_until_it_was_sent_and_its_days_passed(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await _a_harness(resources, clock)
    opened = await _answer_and_pass_quiet_days(harness, claim_id)
    fees = await _fees(harness)
    await _bounce(harness, ANSWER)
    harness.channels[1].answers = [Temporary(3600)] * 3
    await send_due_notices(harness)
    assert await _holds(harness, claim_id) == [(HoldKind.DISPUTE, None)]
    for _ in range(5):
        await harness.run_until(clock.now() + HOUR)
        await send_due_notices(harness)
    *_, sms = harness.channels[1].sent
    assert "beantwortet" in sms.body_text
    [standing] = await _holds(harness, claim_id)
    assert standing[1] is not None
    response_sent_at = standing[1] - 7 * DAY
    [stored] = await read_disputes(harness, claim_id)
    assert stored.response_sent_at == response_sent_at
    assert stored.hold_id != opened.hold_id
    await harness.run_until(response_sent_at + 7 * DAY - HOUR)
    assert await _fees(harness) == fees
    await harness.run_until(response_sent_at + 21 * DAY)
    assert await _holds(harness, claim_id) == []


async def test_the_workflow_continues_when_no_channel_is_left(
    resources: Resources, clock: MovableClock
) -> None:
    """The quiet days count from the answer itself, and have passed."""
    harness, claim_id = await _a_harness(resources, clock)
    await _answer_and_pass_quiet_days(harness, claim_id)
    await _bounce(harness, ANSWER)
    harness.channels[1].answers = [Permanent("no such number")]
    await send_due_notices(harness)
    assert await _holds(harness, claim_id) == []
    [stored] = await read_disputes(harness, claim_id)
    assert stored.response_sent_at is None


async def test_a_bounced_answer_does_not_hold_a_claim_that_has_ended(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await _a_harness(resources, clock)
    await _answer_and_pass_quiet_days(harness, claim_id)
    async with harness.work() as work:
        await archive_claim(work, claim_id)
    await _bounce(harness, ANSWER)
    await send_due_notices(harness)
    assert await _holds(harness, claim_id) == []
    assert "beantwortet" in harness.channels[1].sent[-1].body_text


async def test_the_content_of_an_answer_is_kept_for_30_days(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await _a_harness(resources, clock)
    await answer(harness, await dispute(harness, claim_id), REJECTED, message="Not so.")
    clock.advance(30 * DAY)
    await sweep_notices(resources)
    await _bounce(harness, ANSWER)
    await send_due_notices(harness)
    assert "beantwortet" in harness.channels[1].sent[-1].body_text
    clock.advance(30 * DAY + JUST)
    await sweep_notices(resources)
    [row] = await harness.rows(
        "SELECT facts FROM debtor_occasions WHERE merchant_id = $1 AND occasion = 'dispute_answer'"
    )
    assert row["facts"] is None


@pytest.mark.parametrize("has_new_plan", [False, True])
async def test_a_bounced_end_of_a_plan_is_sent_again_before_any_contact(
    resources: Resources, clock: MovableClock, has_new_plan: bool
) -> None:
    harness, claim_id = await _a_harness(resources, clock)
    arrangement = Arrangement(harness, claim_id)
    await arrangement.agree(PLAN)
    while harness.channels[0].sent[-1].subject != END_OF_PLAN:
        clock.advance(HOUR)
        await harness.run()
        await send_due_notices(harness)
    await harness.run_until(clock.now() + DAY + HOUR)
    assert await _holds(harness, claim_id) == []
    if has_new_plan:
        await arrangement.agree(PlanTerms(3, clock.now().date() + 14 * DAY))
    before = await _holds(harness, claim_id)
    await _bounce(harness, END_OF_PLAN)
    await send_due_occasions(resources, a_notice_writer(harness))
    kinds = [(HoldKind.MODALITY_ACTIVE, None)]
    assert await _holds(harness, claim_id) == kinds
    assert (before == kinds) is has_new_plan
    await send_due_notices(harness)
    response_sent_at = clock.now()
    ends = None if has_new_plan else response_sent_at + DAY
    assert await _holds(harness, claim_id) == [(HoldKind.MODALITY_ACTIVE, ends)]
