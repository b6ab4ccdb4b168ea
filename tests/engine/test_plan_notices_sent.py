"""The debtor of a plan is notified once of each instalment and of the end, before other steps."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.modalities.limits import PlanTerms
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.contact.escalation.end_claim import end_claim
from dunwell.contact.messages.claim_links import hash_token
from dunwell.contact.sending.channel import Permanent
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ClaimTransition
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.interfaces.landing.sign_in.store import find_access_by_link
from dunwell.operations.sandbox.advance_clock import advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.harness import ERP, ScriptedChannel
from tests.support.modalities import OFFERING, PLAN, Arrangement, an_arrangement
from tests.support.notice_sending import a_notice_writer, send_due_notices
from tests.support.recorded_statements import a_counted_database

AT_HOME = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln", "country": "DE"}
WITH_LETTERS = msgspec.structs.replace(
    OFFERING, channels=OFFERING.channels | {"LETTER": ChannelSetup(adapter="outbox")}
)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
# Nine in the morning in Berlin: three days before the first instalment, the day after it, and the
# day on which its grace period ends. Summer time begins on 29 March.
REMINDED = datetime(2026, 3, 13, 8, tzinfo=UTC)
MISSED = datetime(2026, 3, 17, 8, tzinfo=UTC)
BROKEN = datetime(2026, 3, 24, 8, tzinfo=UTC)
_OCCASIONS = """
SELECT occasion, subject, ended_at FROM debtor_occasions
WHERE merchant_id = $1 AND occasion LIKE ANY (ARRAY['rate%', 'plan_%']) ORDER BY due_at, occasion
"""
_NOTICES = """
SELECT subject, body_text, kind, channel FROM debtor_notices
WHERE merchant_id = $1 ORDER BY notice_id
"""
_FEES = "SELECT count(*) AS fees FROM items WHERE merchant_id = $1 AND type = 'DUNNING_FEE'"
_HOLDS = "SELECT until FROM holds WHERE merchant_id = $1 AND lifted_at IS NULL"


@pytest.fixture
async def arrangement(resources: Resources, clock: MovableClock) -> Arrangement:
    """Return an arrangement whose first message was sent and whose agreed plan was confirmed."""
    arrangement = await an_arrangement(resources, clock)
    await arrangement.harness.run()
    await arrangement.agree(PLAN)
    await send_due_notices(arrangement.harness)
    return arrangement


async def run_until(arrangement: Arrangement, until: datetime) -> None:
    """Advance three hours at a time and run everything that falls due. What a notice makes due runs
    after the next advance, or at the end."""
    harness = arrangement.harness
    while harness.clock.now() < until:
        harness.clock.move_to(min(until, harness.clock.now() + 3 * HOUR))
        await harness.run()
        await send_due_notices(harness)
    await harness.run()


async def subjects(arrangement: Arrangement) -> list[str]:
    """List the subjects other than the request, the agreement and receipts."""
    others = ("Ihre Anfrage", "Quittung")
    rows = await arrangement.harness.rows(_NOTICES)
    return [row["subject"] for row in rows if not row["subject"].startswith(others)][1:]


async def occasions(arrangement: Arrangement) -> list[str]:
    return [row["occasion"] for row in await arrangement.harness.rows(_OCCASIONS)]


async def fees(arrangement: Arrangement) -> int:
    [row] = await arrangement.harness.rows(_FEES)
    return int(row["fees"])


async def test_an_instalment_is_announced_three_days_before_at_nine(
    arrangement: Arrangement,
) -> None:
    await run_until(arrangement, REMINDED - HOUR)
    assert await subjects(arrangement) == []
    await run_until(arrangement, REMINDED + DAY)
    assert await subjects(arrangement) == ["Ihre nächste Rate an Nordwind"]
    *_, notice = await arrangement.harness.rows(_NOTICES)
    assert "Bitte zahlen Sie 34,14\u00a0€ bis zum 16. März 2026." in notice["body_text"]
    assert notice["kind"] == "REMINDER"


async def test_the_notice_of_a_missed_instalment_names_the_end_of_its_grace_period(
    arrangement: Arrangement,
) -> None:
    await arrangement.harness.pay(arrangement.claim_id, 1000)
    await run_until(arrangement, MISSED)
    *_, notice = await arrangement.harness.rows(_NOTICES)
    assert notice["subject"] == "Ihre Rate an Nordwind ist noch nicht eingegangen"
    assert "24,14\u00a0€ waren am 16. März 2026 fällig." in notice["body_text"]
    assert "Zahlen Sie bis zum 23. März 2026, dann läuft" in notice["body_text"]
    await run_until(arrangement, BROKEN - 10 * HOUR)
    assert len(await subjects(arrangement)) == 2


async def test_the_notice_of_a_broken_plan_is_sent_a_day_before_any_step_runs(
    arrangement: Arrangement,
) -> None:
    await run_until(arrangement, BROKEN - HOUR)
    assert await fees(arrangement) == 0
    assert (await arrangement.harness.read(arrangement.claim_id)).next_step_at is None
    await run_until(arrangement, BROKEN)
    assert (await subjects(arrangement))[-1] == "Ihre Ratenzahlung mit Nordwind ist beendet"
    await run_until(arrangement, BROKEN + DAY - HOUR)
    assert await fees(arrangement) == 0
    await run_until(arrangement, BROKEN + DAY + HOUR)
    assert await fees(arrangement) == 1


async def test_the_claim_is_held_until_the_notice_of_the_end_of_the_plan_was_sent(
    arrangement: Arrangement,
) -> None:
    harness = arrangement.harness
    harness.clock.move_to(BROKEN)
    for _ in range(3):
        await harness.run()
        harness.clock.advance(3 * DAY)
    assert [row["until"] for row in await harness.rows(_HOLDS)] == [None]
    assert await fees(arrangement) == 0
    # Written, and not sent yet.
    await send_due_occasions(harness.resources, a_notice_writer(harness))
    await harness.run()
    assert [row["until"] for row in await harness.rows(_HOLDS)] == [None]
    assert await fees(arrangement) == 0
    told_at = harness.clock.now()
    await send_due_notices(harness)
    assert [row["until"] for row in await harness.rows(_HOLDS)] == [told_at + DAY]


async def test_no_step_runs_for_a_day_after_the_end_of_the_plan_of_an_unreachable_debtor(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement(resources, clock)
    await arrangement.harness.run()
    await arrangement.agree(PLAN)
    arrangement.harness.channels[:] = [ScriptedChannel([Permanent("no mailbox")] * 9)]
    await run_until(arrangement, BROKEN + DAY - HOUR)
    assert await fees(arrangement) == 0
    await run_until(arrangement, BROKEN + DAY + HOUR)
    assert await fees(arrangement) == 1


async def test_notices_of_a_plan_are_sent_by_letter_when_no_other_channel_works(
    resources: Resources, clock: MovableClock
) -> None:
    by_mail = ScriptedChannel([Permanent("no mailbox")] * 9)
    letters = ScriptedChannel(channel="LETTER")
    arrangement = await an_arrangement(
        resources, clock, configuration=WITH_LETTERS, debtor={"address": AT_HOME}
    )
    await arrangement.harness.run()
    await arrangement.agree(PLAN)
    arrangement.harness.channels[:] = [by_mail, letters]
    await run_until(arrangement, BROKEN)
    assert [each.subject for each in letters.sent] == [
        "Ihre Ratenzahlung mit Nordwind", "Ihre Rate an Nordwind ist noch nicht eingegangen",
        "Ihre Ratenzahlung mit Nordwind ist beendet",
    ]  # fmt: skip
    letter = letters.sent[-1]
    assert "Ihre Zahlungen werden Ihnen angerechnet." in letter.body_text
    assert [row["until"] for row in await arrangement.harness.rows(_HOLDS)] == [BROKEN + DAY]


async def test_the_notice_of_a_completed_plan_is_sent_once(arrangement: Arrangement) -> None:
    await run_until(arrangement, REMINDED)
    await arrangement.harness.pay(arrangement.claim_id, 10240)
    await run_until(arrangement, REMINDED + 60 * HOUR)
    assert await subjects(arrangement) == [
        "Ihre nächste Rate an Nordwind", "Ihre Ratenzahlung mit Nordwind ist bezahlt",
    ]  # fmt: skip
    *_, notice = await arrangement.harness.rows(_NOTICES)
    assert "Es ist nichts mehr zu zahlen." in notice["body_text"]


async def _pay(arrangement: Arrangement) -> None:
    await arrangement.harness.pay(arrangement.claim_id, 5000)


async def _withdraw_plan(arrangement: Arrangement) -> None:
    [row] = await arrangement.harness.rows(
        "SELECT modality_id FROM payment_modalities WHERE merchant_id = $1"
    )
    await arrangement.withdraw(row["modality_id"])


async def _end(arrangement: Arrangement, happening: ClaimTransition) -> None:
    async with arrangement.harness.work() as work:
        await end_claim(work, await lock_claim_of_merchant(work, arrangement.claim_id), happening)


async def _withdraw_claim(arrangement: Arrangement) -> None:
    await _end(arrangement, ClaimTransition.WITHDRAWN_BY_MERCHANT)


async def _dispute(arrangement: Arrangement) -> None:
    await dispute(arrangement.harness, arrangement.claim_id)


@pytest.mark.parametrize("meanwhile", [_pay, _withdraw_plan, _withdraw_claim, _dispute])
@pytest.mark.parametrize("instant", [REMINDED, MISSED])
async def test_an_outdated_instalment_notice_is_not_sent(
    instant: datetime, meanwhile: Any, arrangement: Arrangement
) -> None:
    """The change happens between recording and sending the notice."""
    harness = arrangement.harness
    harness.clock.move_to(instant)
    await sweep_modalities(harness.resources)
    assert len(await occasions(arrangement)) == 1
    await meanwhile(arrangement)
    await send_due_notices(harness)
    names = {"Ihre nächste Rate an Nordwind", "Ihre Rate an Nordwind ist noch nicht eingegangen"}
    assert not names.intersection(await subjects(arrangement))
    [row] = [r for r in await harness.rows(_OCCASIONS) if r["occasion"].startswith("rate")]
    assert row["ended_at"] is not None


async def test_an_instalment_that_is_being_paid_is_not_requested(arrangement: Arrangement) -> None:
    harness = arrangement.harness
    harness.clock.move_to(REMINDED)
    await asyncio.gather(
        sweep_modalities(harness.resources), harness.pay(arrangement.claim_id, 3414, "tx-now")
    )
    await sweep_modalities(harness.resources)
    await send_due_notices(harness)
    assert await subjects(arrangement) == []


async def test_notices_that_a_clock_jump_skipped_are_not_sent_later(
    arrangement: Arrangement,
) -> None:
    arrangement.harness.clock.move_to(MISSED + DAY)
    await arrangement.harness.run()
    assert await occasions(arrangement) == ["rate_missed"]
    arrangement.harness.clock.move_to(BROKEN + DAY)
    await arrangement.harness.run()
    assert await occasions(arrangement) == ["rate_missed", "plan_broken"]


async def test_a_sandbox_clock_stops_at_each_notice_and_at_the_day_after_the_end(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement(resources, clock, sandbox=True)
    harness = arrangement.harness
    await advance_clock(resources, harness.channels, harness.merchant, ERP, clock.now())
    await arrangement.agree(PLAN)

    async def advance(until: datetime) -> None:
        async with resources.database.connection() as connection:
            merchant = await load_merchant(connection, harness.merchant.merchant_id)
        assert merchant is not None
        await advance_clock(resources, harness.channels, merchant, ERP, until)

    await advance(BROKEN + DAY - 10 * HOUR)
    assert sorted(await occasions(arrangement)) == ["plan_broken", "rate_due", "rate_missed"]
    assert await fees(arrangement) == 0
    await advance(BROKEN + DAY)
    assert await fees(arrangement) == 1


async def test_the_number_of_statements_does_not_grow_with_the_plans(
    resources: Resources, clock: MovableClock
) -> None:
    counts = []
    async with a_counted_database(resources, clock) as (over, statements):
        arrangement = await an_arrangement(over, clock)
        for round_ in range(3):
            first = clock.now().date() + timedelta(days=5)
            for n in range(2 + 8 * round_):
                [claim_id] = await arrangement.harness.create(f"R-{round_}-{n}")
                await Arrangement(arrangement.harness, claim_id).agree(PlanTerms(3, first))
            await sweep_modalities(over)
            clock.advance(timedelta(days=2))
            await statements.take()
            assert await sweep_modalities(over) >= 2 + 8 * round_
            counts.append(len(await statements.take()))
    assert counts[1] == counts[2]


async def test_plans_of_two_merchants_do_not_affect_each_other(
    resources: Resources, clock: MovableClock
) -> None:
    ours, theirs = [await an_arrangement(resources, clock, key=key) for key in ("ours", "theirs")]
    for each in (ours, theirs):
        await each.harness.run()
        await each.agree(PLAN)
        await send_due_notices(each.harness)
    await theirs.harness.pay(theirs.claim_id, 3414)
    await run_until(ours, BROKEN)
    assert await occasions(ours) == ["plan_broken", "rate_due", "rate_missed"]
    assert await occasions(theirs) == []
    assert [row["until"] for row in await ours.harness.rows(_HOLDS)] == [BROKEN + DAY]
    assert [row["until"] for row in await theirs.harness.rows(_HOLDS)] == [None]


async def test_each_notice_has_a_link_that_opens_the_claim(arrangement: Arrangement) -> None:
    harness = arrangement.harness
    await run_until(arrangement, MISSED)
    await harness.pay(arrangement.claim_id, 10240)
    await run_until(arrangement, MISSED + HOUR)
    links = {
        sent.subject: re.findall(r"https?://\S+/q/(\S+)", sent.body_text)
        for sent in harness.channels[0].sent
        if sent.subject and sent.subject.startswith(("Ihre nächste Rate", "Ihre Rate", "Ihr Rat"))
    }
    assert len(links) == 4
    async with harness.resources.database.connection() as connection:
        for [token] in links.values():
            way = await find_access_by_link(connection, hash_token(token))
            assert way is not None
            assert way.claim_id == arrangement.claim_id
