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
from tests.support.house import House, a_house
from tests.support.merchants import CONFIGURATION
from tests.support.telling import a_writer, tell

IN_TIME, TOO_LATE = timedelta(days=14), timedelta(days=15)
_TOLD = """
SELECT recipient, language, subject, body_text
FROM debtor_notices
WHERE merchant_id = $1 AND kind = 'OVERDUE'
"""


async def _a_disputed(resources: Resources, clock: MovableClock, **given: Any) -> tuple[House, Any]:
    house = await a_house(resources, clock, a_definition(), **given)
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    await tell(house)
    return house, opened


async def _look(house: House) -> int:
    return await notify_overdue_disputes(house.resources, a_writer(house))


async def _overdue(house: House) -> list[Any]:
    async with house.work() as work:
        found = await list_disputes(work, limit=50, is_overdue=True)
    return [each.dispute.dispute_id for each in found.items]


def _count() -> float:
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
    house, opened = await _a_disputed(resources, clock, configuration=spoken)
    before = _count()
    clock.advance(IN_TIME)
    assert (await _look(house), await _overdue(house)) == (0, [])
    clock.advance(TOO_LATE - IN_TIME)
    assert await _overdue(house) == [opened.dispute_id]
    await asyncio.gather(*(_look(house) for _ in range(4)))
    assert await _look(house) == 0
    [notice] = await house.rows(_TOLD)
    assert (notice["recipient"], notice["language"]) == ("hilfe@nordwind.example", language)
    assert says in notice["body_text"]
    await tell(house)
    assert house.channels[0].sent[-1].recipient == "hilfe@nordwind.example"
    assert _count() == before + 1


async def test_the_claim_stays_on_hold_until_the_dispute_is_answered(
    resources: Resources, clock: MovableClock
) -> None:
    house, opened = await _a_disputed(resources, clock)
    sent = len(house.channels[0].sent)
    await house.run_until(clock.now() + timedelta(days=40))
    assert len(house.channels[0].sent) == sent
    assert [hold.kind for hold in (await house.read(opened.claim_id)).holds] == [HoldKind.DISPUTE]
    await answer(house, opened, REJECTED)
    assert await _overdue(house) == []


async def test_an_answered_or_withdrawn_dispute_is_not_overdue(
    resources: Resources, clock: MovableClock
) -> None:
    house, opened = await _a_disputed(resources, clock)
    other = await dispute(house, opened.claim_id, "DEFECTIVE", "a hole")
    await answer(house, opened, REJECTED)
    await withdraw(house, other)
    clock.advance(TOO_LATE)
    assert (await _look(house), await _overdue(house)) == (0, [])
    assert await house.rows(_TOLD) == []


async def test_a_merchant_without_email_is_not_looked_up_repeatedly(
    resources: Resources, clock: MovableClock
) -> None:
    by_sms = {"SMS": ChannelSetup(adapter="outbox", sender="Nordwind")}
    mute = msgspec.structs.replace(CONFIGURATION, channels=by_sms)
    house, opened = await _a_disputed(resources, clock, configuration=mute)
    clock.advance(TOO_LATE)
    assert [await _look(house) for _ in range(2)] == [1, 0]
    assert await house.rows(_TOLD) == []
    assert await _overdue(house) == [opened.dispute_id]
