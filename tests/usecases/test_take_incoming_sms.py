"""What people write to a line: STOP for all who wrote to them, replies, what cannot be joined."""

from datetime import timedelta

import pytest

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from dunwell.sending.incoming import Incoming, is_stop, read_number
from dunwell.sending.take_incoming_sms import sweep_old_incoming, take_incoming_sms
from tests.servers.sms_world import a_sending_house
from tests.support.house import House, ScriptedLine

NUMBER = "+4915112345678"
_KINDS = "SELECT kind, claim_id FROM inbound_sms WHERE $1 > 0 ORDER BY received_at, provider_id"
_NOTES = "SELECT claim_id, text FROM claim_notes WHERE merchant_id = $1"
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"


async def a_house(
    resources: Resources, clock: MovableClock, key: str, line: str = "sms-a"
) -> tuple[House, int]:
    channel = ScriptedLine(channel="SMS", name=line)
    house = await a_sending_house(resources, clock, channel, key=key)
    [claim_id] = await house.create("R-1", mobileNumber=NUMBER)
    await house.run()
    assert len(channel.sent) == 1
    return house, claim_id


def an_sms(
    text: str, provider_id: str = "1", sender: str = NUMBER, line: str = "sms-a"
) -> Incoming:
    return Incoming(line, provider_id, sender, "+4930123", text)


async def suppressed(house: House) -> list[tuple[str, str]]:
    return [tuple(row) for row in await house.rows(_SUPPRESSED)]


async def kinds(house: House) -> list[tuple[str, int | None]]:
    return [tuple(row) for row in await house.rows(_KINDS)]


async def test_stop_ends_it_for_all_that_wrote_by_this_line(
    resources: Resources, clock: MovableClock
) -> None:
    one, _ = await a_house(resources, clock, "one")
    two, _ = await a_house(resources, clock, "two")
    other, _ = await a_house(resources, clock, "other", line="sms-b")
    real = one.resources
    assert await take_incoming_sms(real, an_sms("STOP", sender="004915112345678"))
    assert await suppressed(one) == await suppressed(two) == [("SMS", "DEBTOR")]
    assert await suppressed(other) == []
    assert not await take_incoming_sms(real, an_sms("STOP", provider_id="2"))


async def test_a_reply_lands_on_the_only_claim_it_can_be_about(
    resources: Resources, clock: MovableClock
) -> None:
    house, claim_id = await a_house(resources, clock, "one")
    for _ in range(2):
        await take_incoming_sms(house.resources, an_sms("Ich zahle am Freitag"))
    assert await kinds(house) == [("REPLY", claim_id)]
    assert [tuple(row) for row in await house.rows(_NOTES)] == [
        (claim_id, "SMS: Ich zahle am Freitag")
    ]


async def test_a_stop_without_an_id_is_none_that_came_before(
    resources: Resources, clock: MovableClock
) -> None:
    house, _ = await a_house(resources, clock, "one")
    await take_incoming_sms(house.resources, an_sms("Hello", provider_id="", sender="+4915100000"))
    assert await take_incoming_sms(house.resources, an_sms("STOP", provider_id=""))
    assert await suppressed(house) == [("SMS", "DEBTOR")]


async def test_what_may_be_about_two_claims_waits_for_a_person(
    resources: Resources, clock: MovableClock
) -> None:
    one, _ = await a_house(resources, clock, "one")
    two, _ = await a_house(resources, clock, "two")
    await take_incoming_sms(one.resources, an_sms("Ich zahle am Freitag"))
    await take_incoming_sms(one.resources, an_sms("Hallo", "2", sender="Nordwind"))
    await take_incoming_sms(one.resources, an_sms("STOP", "3", sender="+4915100000000"))
    assert await kinds(one) == [("UNMATCHED", None)] * 3
    assert await one.rows(_NOTES) == await two.rows(_NOTES) == []
    assert await suppressed(one) == await suppressed(two) == []


async def test_old_ones_are_taken_out(resources: Resources, clock: MovableClock) -> None:
    house, _ = await a_house(resources, clock, "one")
    await take_incoming_sms(house.resources, an_sms("Hallo"))
    clock.move_to(clock.now() + timedelta(days=90))
    assert await sweep_old_incoming(house.resources) == 0
    clock.move_to(clock.now() + timedelta(seconds=1))
    assert await sweep_old_incoming(house.resources) == 1


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
def test_words_that_stop(text: str) -> None:
    assert is_stop(text)


@pytest.mark.parametrize(
    "text", ["", "Hallo", "nonstop", "Bitte stoppen Sie den Brief", "123", "!"]
)
def test_words_that_do_not(text: str) -> None:
    assert not is_stop(text)


def test_numbers_are_read_however_they_are_written() -> None:
    written = ["+4915112345678", "004915112345678", "4915112345678", "Nordwind", "0151 2", "12345"]
    assert [read_number(each) for each in written] == [NUMBER, NUMBER, NUMBER, None, None, None]
