"""A mail server defers a message: it is retried after seconds, and the reason is shown."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness
from tests.support.mail_servers import MailServer, a_mail_server
from tests.support.portal import sign_in
from tests.support.smtp_providers import a_provider

_CONTACTS = """
SELECT claim_id, communication_id, state, failure FROM communications WHERE merchant_id = $1
"""
# The first delay at the upper end of its range.
_FIRST_PAUSE = timedelta(seconds=6.25)
_GREY = "ada+grey@example.org"


@pytest.fixture
async def sink() -> AsyncIterator[MailServer]:
    async with a_mail_server() as sink:
        yield sink


async def a_harness_that_sends_to(
    sink: MailServer, resources: Resources, clock: MovableClock
) -> Harness:
    channel: Any = SmtpChannel("post", a_provider(sink.port), {}, resources.keys)
    return await a_harness_with_a_provider(resources, clock, channel)


async def test_a_deferred_message_is_sent_seconds_later(
    resources: Resources, clock: MovableClock, sink: MailServer
) -> None:
    harness = await a_harness_that_sends_to(sink, resources, clock)
    await harness.create(email=_GREY)
    with capture_logs() as logs:
        await harness.run()
    [row] = await harness.rows(_CONTACTS)
    reason = "The mail server deferred it: 450 4.7.1."
    assert (row["state"], row["failure"]) == ("PLANNED", reason)
    [provider] = [each for each in logs if each["event"] == "messages delayed"]
    assert (provider["channel"], provider["provider"], provider["count"]) == ("EMAIL", "post", 1)
    assert provider["reason"] == reason
    assert "ada" not in str(logs)
    clock.advance(_FIRST_PAUSE)
    await harness.run()
    [row] = await harness.rows(_CONTACTS)
    assert (row["state"], row["failure"]) == ("ACCEPTED", None)


async def test_a_deferred_message_that_is_never_sent_shows_the_reason(
    resources: Resources, clock: MovableClock, sink: MailServer
) -> None:
    harness = await a_harness_that_sends_to(sink, resources, clock)
    [paid] = await harness.create("INV-1", email=_GREY)
    [withdrawn] = await harness.create("INV-2", email=_GREY)
    [assigned] = await harness.create("INV-3", email=_GREY)
    await harness.run()
    assert {row["state"] for row in await harness.rows(_CONTACTS)} == {"PLANNED"}
    other = await harness.publish(a_definition(), "Other")
    await harness.pay(paid, 1_000_000)
    async with harness.work() as work:
        await withdraw_claim(work, withdrawn)
        await assign_to_workflow(work, other.workflow_id, [assigned])
    rows = await harness.rows(_CONTACTS)
    reasons = {row["claim_id"]: row["failure"] for row in rows if row["state"] == "CANCELLED"}
    assert reasons == {
        paid: "The claim was paid.",
        withdrawn: "The claim ended.",
        assigned: "The claim was assigned again.",
    }


async def test_a_short_outage_delays_messages_by_seconds(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_mail_server() as away:
        port = away.port
    harness = await a_harness_that_sends_to(away, resources, clock)
    await harness.create("A", "B", "C")
    await harness.run()
    rows = await harness.rows(_CONTACTS)
    assert {row["failure"] for row in rows} == {"The mail server did not answer."}
    async with a_mail_server(port=port) as back:
        clock.advance(_FIRST_PAUSE)
        await harness.run()
        assert len(back.taken) == 3
    assert {row["state"] for row in await harness.rows(_CONTACTS)} == {"ACCEPTED"}


@pytest.mark.parametrize(
    ("language", "label"),
    [("en", "Last attempt postponed"), ("de", "Letzter Versuch verschoben")],
)
async def test_the_portal_shows_why_a_message_was_deferred(
    resources: Resources, clock: MovableClock, sink: MailServer, language: str, label: str
) -> None:
    harness = await a_harness_that_sends_to(sink, resources, clock)
    await harness.create(email=_GREY)
    await harness.run()
    [row] = await harness.rows(_CONTACTS)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    await clerk.get(f"?lang={language}")
    page = await clerk.get(f"/claims/{row['claim_id']}/messages/{row['communication_id']}")
    assert label in page.text
    assert "The mail server deferred it: 450 4.7.1." in page.text
    claim = await clerk.get(f"/claims/{row['claim_id']}")
    assert "The mail server deferred it: 450 4.7.1." in claim.text
