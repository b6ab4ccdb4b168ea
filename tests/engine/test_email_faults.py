"""Faults of a mail server, and their effect on the contact and its claim."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.receive_mail import receive_mail
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.report import Reference
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bounces import a_block, a_report
from tests.support.children import MAIL_READER
from tests.support.delivery_providers import a_harness_with_a_provider, report
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.mail_servers import MailServer, a_mail_server
from tests.support.rows import insert_row
from tests.support.smtp_providers import a_provider

_CONTACTS = """
SELECT channel, state FROM communications WHERE merchant_id = $1 ORDER BY planned_at, place
"""
_SUPPRESSED = "SELECT reason FROM suppressions WHERE merchant_id = $1"


@asynccontextmanager
async def a_harness(
    resources: Resources, clock: MovableClock, word: str
) -> AsyncIterator[tuple[Harness, MailServer]]:
    """Open a harness with one claim whose e-mail was attempted once."""
    async with a_mail_server() as sink:
        provider = a_provider(sink.port)
        channel: Any = SmtpChannel("post", provider, {}, resources.keys, send_seconds=0.5)
        harness = await a_harness_with_a_provider(resources, clock, channel)
        await harness.create(email=f"erika+{word}@customer.example", mobileNumber="+4915112345678")
        await harness.run()
        yield harness, sink
        await channel.close()


async def contacts(harness: Harness) -> list[tuple[str, str]]:
    return [(row["channel"], row["state"]) for row in await harness.rows(_CONTACTS)]


@pytest.mark.parametrize(
    ("word", "found", "taken"),
    [
        ("nobody", [("EMAIL", "FAILED"), ("SMS", "ACCEPTED")], 0),
        ("policy", [("EMAIL", "FAILED"), ("SMS", "ACCEPTED")], 0),
        ("late-refusal", [("EMAIL", "FAILED"), ("SMS", "ACCEPTED")], 0),
        ("busy", [("EMAIL", "PLANNED")], 0),
        ("stall-before", [("EMAIL", "PLANNED")], 0),
        ("stall-after", [("EMAIL", "UNKNOWN")], 1),
        ("die-after", [("EMAIL", "UNKNOWN")], 1),
    ],
)
async def test_only_an_email_that_may_have_left_becomes_unknown(
    resources: Resources, clock: MovableClock, word: str, found: list[tuple[str, str]], taken: int
) -> None:
    """Also, only an address that does not exist is suppressed."""
    async with a_harness(resources, clock, word) as (harness, sink):
        assert await contacts(harness) == found
        assert len(sink.taken) == taken
        suppressed = [row["reason"] for row in await harness.rows(_SUPPRESSED)]
        assert suppressed == (["BOUNCE"] if word == "nobody" else [])


async def test_a_greylisted_email_is_sent_at_the_next_attempt(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_harness(resources, clock, "grey") as (harness, sink):
        assert await contacts(harness) == [("EMAIL", "PLANNED")]
        await harness.run_until(harness.clock.now().replace(hour=10))
        assert await contacts(harness) == [("EMAIL", "ACCEPTED")]
        assert len(sink.taken) == 1


async def test_a_bounce_settles_an_email_in_doubt_without_sending_it_again(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_harness(resources, clock, "die-after") as (harness, sink):
        # The report as our own mail server writes it.
        content = b"Received: by mail.example.com (Postfix)\r\n"
        content += a_report(a_block("failed", "5.1.1"))
        brought = Envelope("post", "", sink.taken[0].sender, content, is_from_our_server=True)
        for _ in range(2):
            await receive_mail(resources, MAIL_READER, brought)
            await process_reports(resources)
            await harness.run()
        assert await contacts(harness) == [("EMAIL", "FAILED"), ("SMS", "ACCEPTED")]
        assert [row["reason"] for row in await harness.rows(_SUPPRESSED)] == ["BOUNCE"]
        assert len(sink.taken) == 1


async def test_an_unauthenticated_bounce_suppresses_the_address_only_the_second_time(
    resources: Resources, clock: MovableClock
) -> None:
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    [claim_id] = await harness.create(email="erika@customer.example")
    await harness.run()
    merchant_id, first = harness.merchant.merchant_id, provider.sent[0].communication_id
    second = {"merchant_id": merchant_id, "communication_id": UUID(int=7)}
    async with resources.database.transaction() as tx:
        accepted = {"state": "ACCEPTED", "provider": "post", "claim_id": claim_id}
        await insert_row(tx, "communications", 7, **second, **accepted)
        to = {"recipient": "erika@customer.example"}
        await insert_row(tx, "communication_contents", 7, **second, **to)
    suppressed = []
    for number, contact_id in enumerate((first, first, UUID(int=7))):
        reference = Reference(merchant_id, contact_id)
        given = {"provider_message_id": str(number), "cause": "ADDRESS", "is_authenticated": False}
        await report(harness, provider, reference=reference, **given)
        await process_reports(harness.resources)
        suppressed.append([row["reason"] for row in await harness.rows(_SUPPRESSED)])
    assert suppressed == [[], [], ["BOUNCE"]]


@pytest.mark.parametrize("address", ["bounce+aaaa@returns.example.com", "x@returns.example.com"])
async def test_a_forged_report_changes_nothing(
    resources: Resources, clock: MovableClock, address: str
) -> None:
    async with a_harness(resources, clock, "well") as (harness, sink):
        content = a_report(a_block("failed", "5.1.1"))
        await receive_mail(resources, MAIL_READER, Envelope("post", "", address, content))
        forged = sink.taken[0].sender.replace("bounce+a", "bounce+b")
        await receive_mail(
            resources,
            MAIL_READER,
            Envelope("post", "", forged, content.replace(b"report-1", b"report-2")),
        )
        await process_reports(resources)
        await harness.run()
        assert await contacts(harness) == [("EMAIL", "ACCEPTED")]
