"""The messages that each of the three channels receives, and the parts of them that are stored."""

from datetime import timedelta

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.messages.claim_links import (
    CODE_MASK,
    TOKEN_MASK,
    derive_check_code,
    derive_code,
    derive_token,
    digest_code,
    hash_token,
    render_code,
)
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.contact.sending.channel import Permanent
from dunwell.core.files.storage import Storage
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, REACHABLE, TEMPLATE, a_harness_with_channels, sent_by
from tests.support.harness import Harness

_CONTENTS = "SELECT * FROM communication_contents WHERE merchant_id = $1"
_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""
_LINKS = "SELECT token_hash FROM debtor_links WHERE merchant_id = $1"
_CODES = "SELECT code_digest FROM letter_codes WHERE merchant_id = $1"


async def _contacts(harness: Harness) -> list[tuple[str, str, str | None]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def test_an_sms_contains_the_link_and_the_stored_text_masks_it(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "SMS")
    await harness.create(**REACHABLE)
    await harness.run()
    [message] = harness.channels[1].sent
    token = derive_token(resources.keys, message.communication_id)
    check = render_code(derive_check_code(resources.keys, message.communication_id))
    assert message.body_text == (
        f"Nordwind: 102,40 €. http://127.0.0.1:8000/q/{token}\n"
        f"Echt? 127.0.0.1:8000/real Code {check}"
    )
    assert (message.recipient, message.sender) == ("+4915112345678", "Nordwind")
    assert (message.subject, message.document, message.attachments) == (None, None, ())
    [kept] = await harness.rows(_CONTENTS)
    masked = message.body_text.replace(token, TOKEN_MASK).replace(check, CHECK_MASK)
    assert kept["body_text"] == masked
    assert [row["token_hash"] for row in await harness.rows(_LINKS)] == [hash_token(token)]


async def test_only_a_letter_has_an_access_code(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness_with_channels(resources, clock, "SMS")
    await harness.create(**REACHABLE)
    await harness.run()
    assert await harness.rows(_CODES) == []


async def test_a_letter_is_printed_for_its_address(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    [claim_id] = await harness.create(**REACHABLE)
    await harness.run()
    [message] = harness.channels[2].sent
    assert message.recipient == "Erika Mustermann\nHeidestraße 17\n51147 Köln"
    assert message.subject == "Brief INV-1001"
    assert message.document is not None
    assert message.document.content.startswith(b"%PDF-1.7")
    code = derive_code(resources.keys, message.communication_id)
    assert f"Ihr Code: {render_code(code)}\n" in message.body_text
    [event] = await harness.events(claim_id)
    assert event["claim"]["communication"]["channel"] == "LETTER"
    digests = [row["code_digest"] for row in await harness.rows(_CODES)]
    assert digests == [digest_code(resources.keys, code)]


async def test_the_stored_text_and_file_of_a_letter_hide_its_link_and_code(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    await harness.create(**REACHABLE)
    await harness.run()
    [message], [kept] = harness.channels[2].sent, await harness.rows(_CONTENTS)
    assert TOKEN_MASK in kept["body_text"]
    assert CODE_MASK in kept["body_text"]
    assert message.document is not None
    stored = await Storage.open(resources.settings.files_url).load(kept["document_key"])
    assert message.document.content[:200] not in stored
    assert b"%PDF" not in stored


async def test_each_refusal_leads_to_the_next_fallback_channel(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", ["SMS", "LETTER"])
    [claim_id] = await harness.create(**REACHABLE)
    harness.channels[0].answers.append(Permanent("mailbox gone"))
    harness.channels[1].answers.append(Permanent("no such number"))
    await harness.run()
    assert await _contacts(harness) == [
        ("EMAIL", "FAILED", "mailbox gone"),
        ("SMS", "FAILED", "no such number"),
        ("LETTER", "ACCEPTED", None),
    ]
    assert [event["type"] for event in await harness.events(claim_id)] == ["ESCALATED"]


async def test_an_sms_of_too_many_parts_is_refused_without_a_call(
    resources: Resources, clock: MovableClock
) -> None:
    long = {**TEMPLATE, "SMS": {"body": dict.fromkeys(("de", "en"), "x" * 1531)}}
    harness = await a_harness_with_channels(resources, clock, "SMS", ["LETTER"], template=long)
    await harness.create(**REACHABLE)
    await harness.run()
    assert await sent_by(harness) == {"LETTER": 1}
    assert (await _contacts(harness))[0] == (
        "SMS", "FAILED", "The text takes 11 parts; an SMS has at most 10.",
    )  # fmt: skip


@pytest.mark.parametrize("channel", ["EMAIL", "LETTER"])
async def test_a_message_too_large_for_one_claim_fails_and_others_are_sent(
    resources: Resources, clock: MovableClock, channel: Channel
) -> None:
    """A long name makes the message too large. It is not sent, the operator can read why, the
    fallback channel is used, and the worker sends the other message."""
    body = dict.fromkeys(("de", "en"), "{{debtor.name}}" * 1_300)
    large = {**TEMPLATE, channel: {"subject": {"de": "S", "en": "S"}, "body": body}}
    harness = await a_harness_with_channels(resources, clock, channel, ["SMS"], template=large)
    names = {"debtorName": "n" * 250, "debtorLastName": "m" * 250}
    [long], [_usual] = (
        await harness.create("L", **{**REACHABLE, **names}),
        await harness.create(
            "U", **{**REACHABLE, "email": "usual@example.org", "mobileNumber": "+4915100000000"}
        ),
    )

    await harness.run()

    assert await sent_by(harness) == {channel: 1, "SMS": 1}
    rows = await harness.rows(
        "SELECT state, failure FROM communications WHERE merchant_id = $1 AND claim_id = $2"
        " ORDER BY place", long,
    )  # fmt: skip
    most = "400,000" if channel == "EMAIL" else "200,000"
    assert rows[0]["state"] == "FAILED"
    assert rows[0]["failure"].startswith(f"The message is longer than {most} characters")


async def test_an_interrupted_letter_is_repeated_with_the_same_bytes(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    await harness.create(**REACHABLE)
    harness.channels[2].answers.append(ConnectionResetError())
    await harness.run()
    clock.advance(timedelta(days=1))
    await harness.run()
    first, second = harness.channels[2].sent
    assert first == second


async def test_a_letter_whose_file_cannot_be_read_is_retried(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    await harness.create(**REACHABLE)
    harness.channels[2].answers.append(ConnectionResetError())
    await harness.run()
    [kept] = await harness.rows(_CONTENTS)
    await Storage.open(resources.settings.files_url).remove(kept["document_key"])
    clock.advance(timedelta(seconds=31))
    await harness.run()
    reason = "The attachments cannot be read from the storage."
    assert await _contacts(harness) == [("LETTER", "PLANNED", reason)]
    clock.advance(timedelta(seconds=61))
    await harness.run()
    assert await _contacts(harness) == [("LETTER", "ACCEPTED", None)]
    assert len(harness.channels[2].sent) == 2


@pytest.mark.parametrize("count", [40])
async def test_two_dispatchers_print_each_letter_once(
    resources: Resources, clock: MovableClock, count: int
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    claim_ids = await harness.create(*(f"INV-{n}" for n in range(count)), address=ADDRESS)
    other = MessageDispatcher(resources, harness.channels)
    await harness.run()
    await other.run_merchant(harness.merchant.merchant_id)
    await other.close()
    assert sorted(message.claim_id for message in harness.channels[2].sent) == sorted(claim_ids)
    documents = {each.document.content for each in harness.channels[2].sent if each.document}
    assert len(documents) == count
