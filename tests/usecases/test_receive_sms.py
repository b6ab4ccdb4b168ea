"""Incoming SMS: STOP for all merchants that used the provider, replies, and unmatched messages."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.messages.suppression import lift_suppression
from dunwell.contact.notices.notice_outcomes import sweep_notices
from dunwell.contact.notices.occasions.facts import CodeFacts, LinkFacts
from dunwell.contact.notices.sender import NoticeSender
from dunwell.contact.sending.adapters import find_no_provider
from dunwell.contact.sending.incoming_sms import ReceivedSms, is_stop_request, parse_number
from dunwell.contact.sending.receive_sms import receive_sms
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.sms_world import a_sending_harness
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.merchants import CONFIGURATION
from tests.support.notices import NoticeHarness, a_notice_harness
from tests.support.rows import insert_row

NUMBER = "+4915112345678"
_KINDS = """
SELECT kind, claim_id FROM inbound_sms
WHERE $1 > 0 ORDER BY received_at, provider_message_id
"""
_NOTES = "SELECT claim_id, text FROM claim_notes WHERE merchant_id = $1"
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"


async def a_harness(
    resources: Resources, clock: MovableClock, key: str, provider: str = "sms-a"
) -> tuple[Harness, int]:
    channel = ScriptedDeliveryProvider(channel="SMS", name=provider)
    harness = await a_sending_harness(resources, clock, channel, key=key)
    [claim_id] = await harness.create("R-1", mobileNumber=NUMBER)
    await harness.run()
    assert len(channel.sent) == 1
    return harness, claim_id


async def a_notice_harness_with_a_provider(
    resources: Resources, clock: MovableClock, provider: str = "sms-a", *,
    key: str = "one", is_sent: bool = True,
) -> NoticeHarness:  # fmt: skip
    """Send a code to +4915100000009 and a link to +4915100000008, the only number on file."""
    channels: Any = {"SMS": ChannelSetup(provider=provider, sender="Nordwind")}
    configuration = msgspec.structs.replace(CONFIGURATION, channels=channels)
    notice_harness = await a_notice_harness(resources, clock, configuration=configuration, key=key)
    async with notice_harness.harness.work() as work:
        await change_contact_data(work, notice_harness.claim_id, {"mobileNumber": "+4915100000008"})
    for facts, number in ((CodeFacts(), 9), (LinkFacts(), 8)):
        await notice_harness.request(facts, channel="SMS", recipient=f"+491510000000{number}")
    adapter = ScriptedDeliveryProvider(channel="SMS", name=provider)
    find_provider = {provider: adapter}.get if is_sent else find_no_provider
    sender = NoticeSender(notice_harness.harness.resources, [], find_provider=find_provider)
    while await sender.run_once() or not sender.is_idle:
        pass
    await sender.close()
    assert len(adapter.sent) == (2 if is_sent else 0)
    return notice_harness


class BreakingClock(MovableClock):
    """A clock that fails after this number of readings."""

    def __init__(self, now: datetime, calls: int) -> None:
        super().__init__(now)
        self._left = calls

    def now(self) -> datetime:
        if not self._left:
            raise RuntimeError("out of time")
        self._left -= 1
        return super().now()


def an_sms(
    text: str, provider_message_id: str = "1", sender: str = NUMBER, provider: str = "sms-a"
) -> ReceivedSms:
    return ReceivedSms(provider, provider_message_id, sender, "+4930123", text)


async def suppressed(harness: Harness) -> list[tuple[str, str]]:
    return [tuple(row) for row in await harness.rows(_SUPPRESSED)]


async def kinds(harness: Harness) -> list[tuple[str, int | None]]:
    return [tuple(row) for row in await harness.rows(_KINDS)]


async def test_stop_suppresses_the_number_for_all_merchants_that_used_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    one, _ = await a_harness(resources, clock, "one")
    two, _ = await a_harness(resources, clock, "two")
    other, _ = await a_harness(resources, clock, "other", provider="sms-b")
    real = one.resources
    assert await receive_sms(real, an_sms("STOP", sender="004915112345678"))
    assert await suppressed(one) == await suppressed(two) == [("SMS", "DEBTOR")]
    assert await suppressed(other) == []
    assert not await receive_sms(real, an_sms("STOP", provider_message_id="2"))


async def test_stop_in_reply_to_a_notice_suppresses_the_number(
    resources: Resources, clock: MovableClock
) -> None:
    """In reply to a code for a number that is not on file, and after its address was deleted."""
    lines = (("one", "sms-a"), ("two", "sms-a"), ("other", "sms-b"))
    typed, later, other = [
        await a_notice_harness_with_a_provider(resources, clock, line, key=key)
        for key, line in lines
    ]
    real = typed.harness.resources
    assert await receive_sms(real, an_sms("STOP", sender="+4915100000009"))
    assert await suppressed(typed.harness) == await suppressed(later.harness) == [("SMS", "DEBTOR")]
    assert await suppressed(other.harness) == []
    for notice_harness in (typed, later):
        async with notice_harness.harness.work() as work:
            await lift_suppression(work, real.keys, "SMS", "+4915100000009")
    clock.advance(timedelta(days=8))
    await sweep_notices(real)
    assert not await receive_sms(real, an_sms("STOP", "2", sender="+4915100000009"))
    assert await receive_sms(real, an_sms("STOP", "3", sender="+4915100000008"))
    assert await suppressed(typed.harness) == await suppressed(later.harness) == [("SMS", "DEBTOR")]
    assert await suppressed(other.harness) == []


async def test_a_reply_to_a_notice_is_stored_at_its_claim(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness_with_a_provider(resources, clock)
    real = notice_harness.harness.resources
    await receive_sms(real, an_sms("Danke", sender="+4915100000009"))
    await receive_sms(real, an_sms("Wer?", "2", sender="+4915100000009", provider="sms-b"))
    assert await kinds(notice_harness.harness) == [
        ("REPLY", notice_harness.claim_id),
        ("UNMATCHED", None),
    ]


async def test_a_notice_that_was_not_sent_does_not_count_as_contact(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness_with_a_provider(resources, clock, is_sent=False)
    await receive_sms(notice_harness.harness.resources, an_sms("STOP", sender="+4915100000009"))
    assert await suppressed(notice_harness.harness) == []


async def test_stop_reaches_all_merchants_however_many_claims_there_are(
    resources: Resources, clock: MovableClock
) -> None:
    harnesses = [(await a_harness(resources, clock, key))[0] for key in ("one", "two", "three")]
    async with resources.database.transaction() as tx:
        left = {"channel": "SMS", "provider": "sms-a", "handed_over_at": clock.now()}
        for number in range(10_000, 11_010):
            of = {"merchant_id": harnesses[0].merchant.merchant_id, "claim_id": number}
            await insert_row(tx, "debtors", number, mobile_number=NUMBER, **of)
            await insert_row(tx, "communications", number, **of, **left)
    assert await receive_sms(harnesses[0].resources, an_sms("STOP"), set_size=1)
    for harness in harnesses:
        assert await suppressed(harness) == [("SMS", "DEBTOR")]
    assert await kinds(harnesses[0]) == [("STOP", None)]


async def test_an_interrupted_stop_is_completed_when_it_is_received_again(
    resources: Resources, clock: MovableClock
) -> None:
    one, two = [(await a_harness(resources, clock, key))[0] for key in ("one", "two")]
    broken = replace(one.resources, clock=BreakingClock(clock.now(), calls=1))
    with pytest.raises(RuntimeError):
        await receive_sms(broken, an_sms("STOP"), set_size=1)
    assert [await suppressed(one), await suppressed(two)] == [[("SMS", "DEBTOR")], []]
    assert await receive_sms(one.resources, an_sms("STOP"), set_size=1)
    assert [await suppressed(each) for each in (one, two)] == [[("SMS", "DEBTOR")]] * 2
    # A recipient who agreed again is not suppressed by the same message again.
    async with two.work() as work:
        await lift_suppression(work, one.resources.keys, "SMS", NUMBER)
    assert not await receive_sms(one.resources, an_sms("STOP"))
    assert await suppressed(two) == []


async def test_a_reply_is_stored_at_the_only_possible_claim(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_harness(resources, clock, "one")
    for _ in range(2):
        await receive_sms(harness.resources, an_sms("Ich zahle am Freitag"))
    assert await kinds(harness) == [("REPLY", claim_id)]
    assert [tuple(row) for row in await harness.rows(_NOTES)] == [
        (claim_id, "SMS: Ich zahle am Freitag")
    ]


async def test_a_stop_without_an_id_is_not_taken_for_a_duplicate(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await a_harness(resources, clock, "one")
    await receive_sms(
        harness.resources, an_sms("Hello", provider_message_id="", sender="+4915100000")
    )
    assert await receive_sms(harness.resources, an_sms("STOP", provider_message_id=""))
    assert await suppressed(harness) == [("SMS", "DEBTOR")]


async def test_an_ambiguous_reply_waits_for_a_person(
    resources: Resources, clock: MovableClock
) -> None:
    one, _ = await a_harness(resources, clock, "one")
    two, _ = await a_harness(resources, clock, "two")
    await receive_sms(one.resources, an_sms("Ich zahle am Freitag"))
    await receive_sms(one.resources, an_sms("Hallo", "2", sender="Nordwind"))
    await receive_sms(one.resources, an_sms("STOP", "3", sender="+4915100000000"))
    assert await kinds(one) == [("UNMATCHED", None)] * 3
    assert await one.rows(_NOTES) == await two.rows(_NOTES) == []
    assert await suppressed(one) == await suppressed(two) == []


@pytest.mark.parametrize(
    "text",
    [
        "STOP",
        "stop.",
        " Stopp! ",
        "ABMELDEN",
        "ARRÊT",
        "arret",
        "Unsubscribe",
        "STOP bitte",
        "СТОП",
    ],
)
def test_stop_words_are_recognised(text: str) -> None:
    assert is_stop_request(text)


@pytest.mark.parametrize(
    "text", ["", "Hallo", "nonstop", "Bitte stoppen Sie den Brief", "123", "!"]
)
def test_other_words_are_not_taken_for_stop(text: str) -> None:
    assert not is_stop_request(text)


def test_numbers_are_accepted_in_every_spelling() -> None:
    written = ["+4915112345678", "004915112345678", "4915112345678", "Nordwind", "0151 2", "12345"]
    assert [parse_number(each) for each in written] == [NUMBER, NUMBER, NUMBER, None, None, None]
