"""E-mail through a real Postfix with the operator's example files: out to test mail servers, and
back to Dunwell's own listener."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.policy import default
from typing import Any

import aiosmtplib
import pytest

from dunwell.accounts.installation.delivery_providers import SmtpProvider
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.adapters.mail.listener import MailHandler, listen
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.notices.occasions.facts import CodeFacts, InstalmentDueFacts
from dunwell.contact.notices.sender import NoticeSender
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from dunwell.platform.text.yaml_document import parse_yaml
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.servers.debian import PRODUCTION, replace_in, wait_until
from tests.servers.postfix import Postfix
from tests.support.bounces import a_block, a_report
from tests.support.children import MAIL_READER
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness
from tests.support.mail_servers import MailServer
from tests.support.mail_texts import read_email
from tests.support.notices import NoticeHarness
from tests.support.smtp_providers import a_provider
from tests.support.threaded_mail_server import a_threaded_mail_server

_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY planned_at, place
"""
_REPORTS = "SELECT state, cause, reason, outcome FROM delivery_reports WHERE $1 > 0"
_SUPPRESSED = "SELECT reason FROM suppressions WHERE merchant_id = $1"


@pytest.fixture
def receiving_server(postfix: Postfix) -> Iterator[MailServer]:
    with a_threaded_mail_server(postfix.world_port) as sink:
        yield sink
        drain(postfix)


def drain(postfix: Postfix) -> None:
    """Wait until everything that Postfix accepted is delivered or returned."""
    command = ["postqueue", "-c", str(postfix.folder / "etc"), "-j"]

    def is_empty() -> bool:
        return not subprocess.run(command, check=True, capture_output=True).stdout.strip()

    postfix.flush()
    wait_until(is_empty, 60)


class TestSmtpOverPostfix(ChannelContract):
    @pytest.fixture
    async def channel(
        self, postfix: Postfix, receiving_server: MailServer
    ) -> AsyncIterator[ChannelUnderTest]:
        channel = SmtpChannel("post", a_provider(postfix.port), {}, KeyRing({1: b"k" * 32}))

        def received() -> list[str]:
            drain(postfix)
            return [read_email(each.content) for each in receiving_server.taken]

        yield ChannelUnderTest(channel, received, "ada@example.org, x@example.org")
        await channel.close()


def read_provider(postfix: Postfix) -> SmtpProvider:
    """Return the operator's example with the port replaced."""
    text = (PRODUCTION / "installation.yaml").read_text()
    document = parse_yaml(replace_in(text, [("127.0.0.1:2525", f"127.0.0.1:{postfix.port}")]))
    provider = (check_installation(document).delivery_providers or {})["mail"]
    assert isinstance(provider, SmtpProvider)
    return provider


@asynccontextmanager
async def a_harness(
    resources: Resources, clock: MovableClock, postfix: Postfix
) -> AsyncIterator[Harness]:
    """Run a merchant that sends through Postfix and receives what comes back."""
    provider = read_provider(postfix)
    channel: Any = SmtpChannel("post", provider, {}, resources.keys)
    harness = await a_harness_with_a_provider(resources, clock, channel)
    mail_handler = MailHandler(resources, MAIL_READER, lambda: {"post": provider})
    async with listen(mail_handler, "LMTP", "127.0.0.1", postfix.lmtp_port):
        yield harness
    await channel.close()


async def reports(harness: Harness, count: int) -> list[tuple[str, ...]]:
    async with asyncio.timeout(60):
        while len(await harness.rows(_REPORTS)) < count:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.1)
    await process_reports(harness.resources)
    await harness.run()
    return [tuple(row) for row in await harness.rows(_REPORTS)]


@pytest.mark.parametrize(
    ("word", "expected", "suppressed"),
    [
        ("nobody", ("ADDRESS", "5.1.1"), ["BOUNCE"]),
        ("disabled", ("ADDRESS", "5.2.1"), ["BOUNCE"]),
        ("full", ("OTHER", "5.2.2"), []),
        ("policy", ("ABOUT_US", "5.7.1"), []),
        ("late-refusal", ("OTHER", "5.6.0"), []),
    ],
)
async def test_a_bounce_fails_the_contact_and_uses_the_next_channel(  # noqa: PLR0917 - fixtures and cases
    resources: Resources, clock: MovableClock, postfix: Postfix, receiving_server: MailServer,
    word: str, expected: tuple[str, str], suppressed: list[str],
) -> None:  # fmt: skip
    async with a_harness(resources, clock, postfix) as harness:
        await harness.create(email=f"erika+{word}@customer.example", mobileNumber="+4915112345678")
        await harness.run()
        [(channel, state, _)] = await harness.rows(_CONTACTS)
        assert (channel, state) == ("EMAIL", "ACCEPTED")
        [(reported, cause, reason, _)] = await reports(harness, 1)
        assert (reported, (cause, reason)) == ("FAILED", expected)
        contacts = [(row["channel"], row["state"]) for row in await harness.rows(_CONTACTS)]
        assert contacts == [("EMAIL", "FAILED"), ("SMS", "ACCEPTED")]
        assert [row["reason"] for row in await harness.rows(_SUPPRESSED)] == suppressed
    assert receiving_server.taken == []


async def test_a_forged_bounce_suppresses_no_address(
    resources: Resources, clock: MovableClock, postfix: Postfix, receiving_server: MailServer
) -> None:
    """Every recipient knows the return address of a message. A forged bounce fails the contact
    once; the address is suppressed only after a second message to it bounces."""
    async with a_harness(resources, clock, postfix) as harness:
        for number in (1, 2):
            await harness.create(
                f"R-{number}", email=f"e{number}@customer.example", customerNumber=str(number),
                mobileNumber=f"+49151123456{number}",
            )  # fmt: skip
        await harness.run()
        drain(postfix)
        forged = a_report(a_block("failed", "5.1.1"), original="Received: by localhost (Postfix)")
        for forged_one in (forged, b"Received: by mail.example.com (Postfix)\r\n" + forged):
            async with aiosmtplib.SMTP(hostname="127.0.0.1", port=postfix.port) as client:
                taken = receiving_server.taken.pop()
                content = forged_one.replace(b"report-1", taken.recipient.encode())
                await client.sendmail("", [taken.sender], content)
        assert [each[:2] for each in await reports(harness, 2)] == [("FAILED", "ADDRESS")] * 2
        assert await harness.rows(_SUPPRESSED) == []
        states = sorted((row["channel"], row["state"]) for row in await harness.rows(_CONTACTS))
        assert states == [("EMAIL", "FAILED")] * 2 + [("SMS", "ACCEPTED")] * 2


async def test_recurring_messages_offer_one_click_unsubscribe(
    resources: Resources, clock: MovableClock, postfix: Postfix, receiving_server: MailServer
) -> None:
    """Reminders of a workflow and of a plan offer it; a requested code does not."""
    async with a_harness(resources, clock, postfix) as harness:
        [claim_id] = await harness.create(email="erika@customer.example")
        await harness.run()
        notice_harness = NoticeHarness(
            harness,
            claim_id,
            NoticeWriter(load_languages(DEBTOR_CATALOGUES), "https://pay.example"),
        )
        for facts in (InstalmentDueFacts("INV-1001", "EUR", 3414, clock.now().date()), CodeFacts()):
            await notice_harness.request(facts, recipient="erika@customer.example")
        sender = NoticeSender(harness.resources, [], find_provider=harness.delivery_providers.get)
        while await sender.run_once() or not sender.is_idle:
            pass
        await sender.close()
        drain(postfix)
    mails = [message_from_bytes(each.content, policy=default) for each in receiving_server.taken]
    ended = {mail["Subject"]: mail["List-Unsubscribe-Post"] for mail in mails}
    assert ended.pop("Ihr Code für Nordwind") is None
    assert list(ended.values()) == ["List-Unsubscribe=One-Click"] * 2


async def test_a_greylisted_email_arrives_after_a_retry(
    resources: Resources, clock: MovableClock, postfix: Postfix, receiving_server: MailServer
) -> None:
    async with a_harness(resources, clock, postfix) as harness:
        await harness.create(email="erika+grey@customer.example")
        await harness.run()
        drain(postfix)
        assert [each.recipient for each in receiving_server.taken] == [
            "erika+grey@customer.example"
        ]
        assert await harness.rows(_REPORTS) == []


async def test_a_refusal_by_our_own_mail_server_uses_the_next_channel_at_once(
    resources: Resources, clock: MovableClock, postfix: Postfix
) -> None:
    async with a_harness(resources, clock, postfix) as harness:
        await harness.create(email="erika@nowhere.example", mobileNumber="+4915112345678")
        await harness.run()
        words = "The mail server refused it: 550 5.1.2."
        assert [tuple(row) for row in await harness.rows(_CONTACTS)] == [
            ("EMAIL", "FAILED", words), ("SMS", "ACCEPTED", None),
        ]  # fmt: skip
        assert await harness.rows(_REPORTS) == []
        assert [row["reason"] for row in await harness.rows(_SUPPRESSED)] == ["BOUNCE"]
