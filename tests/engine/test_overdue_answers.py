"""A merchant that answers a dispute too late is notified once, and the claim stays on hold."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.disputes.list_disputes import list_disputes
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.disputes.notify_overdue import notify_overdue_disputes
from dunwell.platform.clock import MovableClock
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import REJECTED, answer, dispute, withdraw
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.notice_sending import a_notice_writer, send_due_notices

IN_TIME, TOO_LATE = timedelta(days=14), timedelta(days=15)
_NOTICES = """
SELECT recipient, language, subject, body_text
FROM debtor_notices
WHERE merchant_id = $1 AND kind = 'OVERDUE'
"""


async def _a_disputed_claim(
    resources: Resources, clock: MovableClock, **given: Any
) -> tuple[Harness, Any]:
    harness = await a_harness(resources, clock, a_definition(), **given)
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    await send_due_notices(harness)
    return harness, opened


async def _notify_overdue(harness: Harness) -> int:
    return await notify_overdue_disputes(harness.resources, a_notice_writer(harness))


async def _list_overdue(harness: Harness) -> list[Any]:
    async with harness.work() as work:
        found = await list_disputes(work, limit=50, is_overdue=True)
    return [each.dispute.dispute_id for each in found.items]


def _count_overdue() -> float:
    return REGISTRY.get_sample_value("dunwell_disputes_overdue_total") or 0.0


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("de", "Zugesagt war eine Antwort bis zum 16. März 2026"),
        ("en", "was promised a response by 16 March 2026"),
    ],
)
async def test_the_merchant_is_notified_once_at_its_contact_address(
    resources: Resources, clock: MovableClock, language: str, says: str
) -> None:
    spoken = msgspec.structs.replace(CONFIGURATION, language=language)
    harness, opened = await _a_disputed_claim(resources, clock, configuration=spoken)
    before = _count_overdue()
    clock.advance(IN_TIME)
    assert (await _notify_overdue(harness), await _list_overdue(harness)) == (0, [])
    clock.advance(TOO_LATE - IN_TIME)
    assert await _list_overdue(harness) == [opened.dispute_id]
    await asyncio.gather(*(_notify_overdue(harness) for _ in range(4)))
    assert await _notify_overdue(harness) == 0
    [notice] = await harness.rows(_NOTICES)
    assert (notice["recipient"], notice["language"]) == ("hilfe@nordwind.example", language)
    assert says in notice["body_text"]
    await send_due_notices(harness)
    assert harness.channels[0].sent[-1].recipient == "hilfe@nordwind.example"
    assert _count_overdue() == before + 1


async def test_the_claim_stays_on_hold_until_the_dispute_is_answered(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    sent = len(harness.channels[0].sent)
    await harness.run_until(clock.now() + timedelta(days=40))
    assert len(harness.channels[0].sent) == sent
    assert [hold.kind for hold in (await harness.read(opened.claim_id)).holds] == [HoldKind.DISPUTE]
    await answer(harness, opened, REJECTED)
    assert await _list_overdue(harness) == []


async def test_an_answered_or_withdrawn_dispute_is_not_overdue(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    other = await dispute(harness, opened.claim_id, "DEFECTIVE", "a hole")
    await answer(harness, opened, REJECTED)
    await withdraw(harness, other)
    clock.advance(TOO_LATE)
    assert (await _notify_overdue(harness), await _list_overdue(harness)) == (0, [])
    assert await harness.rows(_NOTICES) == []


async def test_a_merchant_without_email_is_not_notified_and_not_checked_again(
    resources: Resources, clock: MovableClock
) -> None:
    by_sms = {"SMS": ChannelSetup(adapter="outbox", sender="Nordwind")}
    mute = msgspec.structs.replace(CONFIGURATION, channels=by_sms)
    harness, opened = await _a_disputed_claim(resources, clock, configuration=mute)
    clock.advance(TOO_LATE)
    assert [await _notify_overdue(harness) for _ in range(2)] == [1, 0]
    assert await harness.rows(_NOTICES) == []
    assert await _list_overdue(harness) == [opened.dispute_id]
