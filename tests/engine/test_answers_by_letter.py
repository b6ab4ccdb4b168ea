"""The answer to a dispute is sent by letter when neither e-mail nor SMS works."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.contact.messages.claim_links import hash_token, list_code_digests, parse_code
from dunwell.contact.messages.identities import render_postal_address
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.sign_in.store import find_access_by_code, find_access_by_link
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, resolve
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.letters import PrintedLetter
from tests.support.notice_sending import send_due_notices
from tests.support.notices import WITH_SMS

DAY = timedelta(days=1)
ADDRESS = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln", "country": "DE"}
BY_POST = msgspec.structs.replace(
    WITH_SMS, channels=WITH_SMS.channels | {"LETTER": ChannelSetup(adapter="outbox")}
)
REASON = "Der Gutschein war am 1. Februar abgelaufen."


async def _a_disputed_claim(
    resources: Resources, clock: MovableClock, **fields: Any
) -> tuple[Harness, Any]:
    channels = [ScriptedChannel(channel=each) for each in ("EMAIL", "SMS", "LETTER")]
    harness = await a_harness(resources, clock, None, configuration=BY_POST, channels=channels)
    [claim_id] = await harness.create(**{"email": None, "address": ADDRESS} | fields)
    return harness, await dispute(harness, claim_id)


def _sent(harness: Harness) -> list[str]:
    return [each.channel for channel in harness.channels for each in channel.sent]


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("de", "Die Antwort von Nordwind auf Ihren Einwand"),
        ("en", "Nordwind\N{RIGHT SINGLE QUOTATION MARK}s response to your dispute"),
    ],
)
async def test_the_letter_is_one_page_with_address_reason_payment_code_and_link(
    resources: Resources, clock: MovableClock, tmp_path: Path, language: str, says: str
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock, language=language)
    await answer(harness, opened, REJECTED, message=REASON)
    [letter] = harness.channels[2].sent
    assert letter.recipient.splitlines()[-2:] == ["Heidestraße 17", "51147 Köln"]
    assert letter.document is not None
    path = tmp_path / "letter.pdf"
    path.write_bytes(letter.document.content)
    printed = PrintedLetter(path)
    text = " ".join(printed.text().split())
    assert "\f" not in printed.text().strip()
    for part in (says, REASON, "Heidestraße 17", "INV-1001"):
        assert part in text
    assert "_" not in text
    address, payment = sorted(printed.codes(), key=lambda code: not code.startswith("http"))
    assert payment.startswith("BCD")
    async with resources.database.connection() as connection:
        way = await find_access_by_link(connection, hash_token(address.rpartition("/")[2]))
        assert way is not None
        assert (way.claim_id, way.channel) == (opened.claim_id, "LETTER")
        codes = [code for word in text.split() if (code := parse_code(word)) and "-" in word]
        known = await find_access_by_code(connection, list_code_digests(resources.keys, codes[0]))
        assert known is not None
        assert (known.claim_id, known.level) == (opened.claim_id, Level.FACT)


async def test_the_quiet_days_begin_when_the_print_service_accepts_the_letter(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(resources, clock)
    harness.channels[2].answers = [Temporary(3600)]
    await answer(harness, opened, REJECTED)
    assert [hold.until for hold in (await harness.read(opened.claim_id)).holds] == [None]
    clock.advance(timedelta(hours=2))
    await send_due_notices(harness)
    ends = clock.now() + 7 * DAY
    assert [hold.until for hold in (await harness.read(opened.claim_id)).holds] == [ends]
    first, second = harness.channels[2].sent
    assert (first.communication_id, first.document) == (second.communication_id, second.document)


async def test_the_answer_is_a_letter_only_after_email_and_sms_were_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness, opened = await _a_disputed_claim(
        resources, clock, email="erika@example.org", mobileNumber="+4915112345678"
    )
    await send_due_notices(harness)
    for channel in harness.channels:
        channel.sent.clear()
    harness.channels[0].answers = [Permanent("no such mailbox")]
    harness.channels[1].answers = [Permanent("no such number")]
    await answer(harness, opened, ACCEPTED)
    assert _sent(harness) == ["EMAIL", "SMS", "LETTER"]


async def test_the_confirmation_of_a_dispute_is_never_sent_by_letter(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await _a_disputed_claim(resources, clock)
    await send_due_notices(harness)
    assert _sent(harness) == []


@pytest.mark.parametrize("why", ["suppressed", "no city"])
async def test_the_quiet_days_count_from_the_answer_when_no_letter_can_be_sent(
    resources: Resources, clock: MovableClock, why: str
) -> None:
    fields = {"address": ADDRESS | {"city": None}} if why == "no city" else {}
    harness, opened = await _a_disputed_claim(resources, clock, **fields)
    provider = render_postal_address(
        {"street": "Heidestraße 17", "postal_code": "51147", "city": "Köln"}
    )
    async with harness.work() as work:
        if why == "suppressed":
            await suppress(work, resources.keys, "LETTER", provider, "OPERATOR")
    resolved = await resolve(harness, opened, REJECTED)
    clock.advance(DAY)
    await send_due_notices(harness)
    assert _sent(harness) == []
    assert resolved.resolved_at is not None
    ends = resolved.resolved_at + 7 * DAY
    assert [hold.until for hold in (await harness.read(opened.claim_id)).holds] == [ends]
