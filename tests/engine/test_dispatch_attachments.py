"""Attachments of messages under the policies NONE, OPTIONAL and REQUIRED (CONTRACT 6)."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels, sent_by, upload
from tests.support.files import a_pdf, an_image
from tests.support.harness import Harness

_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""
_HISTORY = """
SELECT step_id, outcome, reason FROM step_history WHERE merchant_id = $1 ORDER BY at, step_id
"""
_ATTACH = """
INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
SELECT $1, $2, gen_random_uuid(), $3, 0, now()
"""
_WEEK = timedelta(days=7)


async def _create(harness: Harness, **files: bytes) -> int:
    tickets = [await upload(harness, name, content) for name, content in files.items()]
    attachments = [{"sourceType": "TICKET", "source": str(ticket)} for ticket in tickets]
    changes: dict[str, Any] = {**REACHABLE, "attachments": attachments}
    [claim_id] = await harness.create(**changes)
    return claim_id


async def _contacts(harness: Harness) -> list[tuple[str, str, str | None]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def _attach(harness: Harness, claim_id: int, ticket: UUID) -> None:
    await harness.rows(_ATTACH, claim_id, ticket)


@pytest.mark.parametrize(("policy", "count"), [("NONE", 0), ("OPTIONAL", 2), ("REQUIRED", 2)])
async def test_an_email_has_the_attachments_that_its_step_defines(
    resources: Resources, clock: MovableClock, policy: str, count: int
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments=policy)
    await _create(harness, Rechnung=a_pdf(), Foto=an_image("JPEG"))
    await harness.run()
    [message] = harness.channels[0].sent
    files = [(file.name, file.content_type) for file in message.attachments]
    wanted = [("Rechnung.pdf", "application/pdf"), ("Foto.jpg", "image/jpeg")]
    assert files == wanted[:count]
    assert all(file.content for file in message.attachments)


async def test_a_letter_lists_its_enclosures_with_their_pages(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER", attachments="OPTIONAL")
    await _create(harness, Rechnung=a_pdf(3), Foto=an_image("PNG"))
    await harness.run()
    [message] = harness.channels[2].sent
    assert message.body_text.endswith("\n\nAnlagen:\nRechnung (3 Seiten)\nFoto\n")
    assert [file.name for file in message.attachments] == ["Rechnung.pdf", "Foto.png"]


async def test_an_sms_has_no_attachments(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness_with_channels(resources, clock, "SMS", attachments="REQUIRED")
    await _create(harness, Rechnung=a_pdf())
    await harness.run()
    [message] = harness.channels[1].sent
    assert message.attachments == ()


@pytest.mark.parametrize(
    ("channel", "attachments"), [("EMAIL", "NONE"), ("EMAIL", "OPTIONAL"), ("LETTER", "OPTIONAL")]
)
async def test_a_contact_that_requires_no_attachment_does_not_wait_for_one(
    resources: Resources, clock: MovableClock, channel: Channel, attachments: str
) -> None:
    harness = await a_harness_with_channels(resources, clock, channel, attachments=attachments)
    await _create(harness)
    await harness.run()
    assert await sent_by(harness) == {channel: 1}


async def test_a_missing_required_attachment_holds_the_contact_without_a_fallback(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(
        resources, clock, "EMAIL", ["SMS", "LETTER"], attachments="REQUIRED"
    )
    claim_id = await _create(harness)
    await harness.run_until(clock.now() + _WEEK - timedelta(hours=1))
    assert await sent_by(harness) == {}
    assert await _contacts(harness) == [("EMAIL", "ATTACHMENT_MISSING", None)]
    assert await harness.events(claim_id) == []


async def test_a_step_without_its_required_attachment_fails_after_seven_days(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(
        resources, clock, "EMAIL", ["SMS", "LETTER"], attachments="REQUIRED"
    )
    claim_id = await _create(harness)
    await harness.run_until(clock.now() + _WEEK)
    assert await sent_by(harness) == {}
    assert await _contacts(harness) == [("EMAIL", "FAILED", "ATTACHMENT_MISSING")]
    history = [tuple(row) for row in await harness.rows(_HISTORY)]
    assert history[0] == (1, "FAILED", "ATTACHMENT_MISSING")
    assert (await harness.read(claim_id)).next_step_at == clock.now() + _WEEK


async def test_a_required_attachment_that_arrives_within_seven_days_is_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    claim_id = await _create(harness)
    await harness.run()
    await _attach(harness, claim_id, await upload(harness, "Rechnung", a_pdf()))
    clock.advance(_WEEK)
    await harness.run()
    [message] = harness.channels[0].sent
    assert [file.name for file in message.attachments] == ["Rechnung.pdf"]
    assert await _contacts(harness) == [("EMAIL", "ACCEPTED", None)]


async def test_a_contact_waiting_for_an_attachment_is_cancelled_when_the_claim_is_paid(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    claim_id = await _create(harness)
    await harness.run()
    await harness.pay(claim_id, 10240)
    assert await _contacts(harness) == [("EMAIL", "CANCELLED", "The claim was paid.")]
    await harness.run_until(clock.now() + _WEEK)
    assert await sent_by(harness) == {}


async def test_an_interrupted_message_is_repeated_with_the_same_files(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="OPTIONAL")
    claim_id = await _create(harness, Rechnung=a_pdf())
    harness.channels[0].answers.append(ConnectionResetError())
    await harness.run()
    await _attach(harness, claim_id, await upload(harness, "Nachtrag", a_pdf()))
    clock.advance(timedelta(seconds=31))
    await harness.run()
    first, second = harness.channels[0].sent
    assert first == second
    assert [file.name for file in second.attachments] == ["Rechnung.pdf"]
