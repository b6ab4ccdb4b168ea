"""The Twilio adapter with a simulated Twilio: the contract of channels, refusals, and signed and
forged callbacks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import Credentials, TwilioProvider
from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.gateway import UnclearResponse
from dunwell.adapters.channels.twilio.channel import TwilioChannel, sign
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.interfaces.cli.findings.gateways import check_gateway
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.servers.sms_world import NUMBER, a_sending_harness
from tests.support.harness import Harness
from tests.support.messages import a_message
from tests.support.served import ServedApplication, serve
from tests.support.twilio import ACCOUNT, TOKEN, FakeTwilio, a_fake_twilio

NAME = "sms-twilio"
SECRETS = {f"deliveryProviders/{NAME}/credentials/passwordFile": TOKEN}
KEYS = KeyRing({1: bytes(range(32))})
_MESSAGE = a_message(channel="SMS", recipient=NUMBER, sender="Nordwind")
_CONTACTS = """
SELECT channel, state, delivered_at IS NOT NULL FROM communications
WHERE merchant_id = $1 ORDER BY planned_at, place
"""
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"


def a_provider(address: str, stop_confirmation: str | None = None) -> TwilioProvider:
    return TwilioProvider(
        channel="SMS",
        server=address,
        credentials=Credentials(user=ACCOUNT, password_file="token"),
        networks=("127.0.0.1",),
        stop_confirmation=stop_confirmation,
    )


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwilio]:
    async with a_fake_twilio() as running:
        yield running


@pytest.fixture
async def adapter(fake: FakeTwilio) -> AsyncIterator[TwilioChannel]:
    channel = TwilioChannel(
        NAME, a_provider(fake.address), SECRETS, KEYS, "https://pay.example.com"
    )
    yield channel
    await channel.close()


class TestTwilio(ChannelContract):
    @pytest.fixture
    def channel(self, fake: FakeTwilio, adapter: TwilioChannel) -> ChannelUnderTest:
        def received() -> list[str]:
            return [message["Body"] for message in fake.messages]

        return ChannelUnderTest(adapter, received, "0151 12345678")


@pytest.mark.parametrize(
    ("status", "code", "cause"),
    [
        (400, 21211, "ADDRESS"), (400, 21610, "ADDRESS"), (400, 21614, "ADDRESS"),
        (400, 21612, "OTHER"), (400, 21606, None), (401, 20003, None), (429, 20429, None),
    ],
)  # fmt: skip
async def test_permanent_and_temporary_refusals_are_distinguished(
    fake: FakeTwilio, adapter: TwilioChannel, status: int, code: int, cause: str | None
) -> None:
    """The refusal concerns the number, the message, or our account. In the last case the message is
    sent again later."""
    fake.refusals = [(status, code)]
    outcome = await adapter.send(_MESSAGE)
    assert isinstance(outcome, Temporary if cause is None else Permanent)
    assert getattr(outcome, "cause", None) == cause
    assert fake.messages == []


async def test_after_a_server_error_the_outcome_is_unknown(
    fake: FakeTwilio, adapter: TwilioChannel
) -> None:
    fake.refusals = [(500, 20500)]
    with pytest.raises(UnclearResponse):
        await adapter.send(_MESSAGE)


async def test_a_message_that_may_have_been_accepted_is_not_posted_again(
    fake: FakeTwilio, adapter: TwilioChannel
) -> None:
    fake.closes_connection = True
    with pytest.raises(UnclearResponse):
        await adapter.send(_MESSAGE)
    assert len(fake.messages) == 1


def test_the_signature_matches_the_providers_example() -> None:
    pairs = [
        ("CallSid", "CA1234567890ABCDE"), ("Caller", "+14158675309"), ("Digits", "1234"),
        ("From", "+14158675309"), ("To", "+18005551212"),
    ]  # fmt: skip
    address = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert sign(b"12345", address, pairs) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="


@dataclass
class Sent:
    """A merchant with a message that the provider has accepted."""

    harness: Harness
    fake: FakeTwilio
    served: ServedApplication

    async def contacts(self) -> list[tuple[object, ...]]:
        await process_reports(self.harness.resources)
        await self.harness.run()
        return [tuple(row) for row in await self.harness.rows(_CONTACTS)]

    @property
    def incoming(self) -> str:
        return f"{self.served.origin}/callbacks/channels/{NAME}/incoming"


@pytest.fixture
async def sent(resources: Resources, clock: MovableClock, fake: FakeTwilio) -> AsyncIterator[Sent]:
    async with serve(resources) as served:
        own = served.resources
        provider = a_provider(fake.address, "Sie erhalten keine SMS mehr.")
        await apply_installation(own, Installation(delivery_providers={NAME: provider}), SECRETS)
        await served.installation.refresh()
        channel = TwilioChannel(NAME, provider, SECRETS, own.keys, served.origin)
        harness = await a_sending_harness(own, clock, channel)
        await harness.create(mobileNumber=NUMBER)
        await harness.run()
        assert len(fake.messages) == 1
        yield Sent(harness, fake, served)
        await channel.close()


async def test_reports_are_matched_and_final_states_do_not_change(sent: Sent) -> None:
    for status in ("sent", "delivered", "undelivered", "sending", "delivered"):
        assert (await sent.fake.report(status)).status_code == 200
    assert await sent.contacts() == [("SMS", "ACCEPTED", True)]


async def test_a_nonexistent_number_is_suppressed_and_the_next_channel_used(sent: Sent) -> None:
    await sent.fake.report("undelivered", error="30005")
    assert await sent.contacts() == [("SMS", "FAILED", False), ("EMAIL", "ACCEPTED", False)]
    assert [tuple(row) for row in await sent.harness.rows(_SUPPRESSED)] == [("SMS", "BOUNCE")]


@pytest.mark.parametrize(
    ("code", "suppressed"),
    [(21211, [("SMS", "BOUNCE")]), (21610, [("SMS", "BOUNCE")]), (21614, [("SMS", "BOUNCE")]),
     (21612, [])],
)  # fmt: skip
async def test_a_number_that_is_refused_at_once_is_suppressed_like_a_reported_one(
    sent: Sent, code: int, suppressed: list[tuple[str, str]]
) -> None:
    sent.fake.refusals = [(400, code)]
    await sent.harness.create("R-2", mobileNumber="+4915100000002", email="b@example.org")
    await sent.harness.run()
    expected = [("SMS", "ACCEPTED", False), ("SMS", "FAILED", False), ("EMAIL", "ACCEPTED", False)]
    assert sorted(await sent.contacts()) == sorted(expected)
    assert [tuple(row) for row in await sent.harness.rows(_SUPPRESSED)] == suppressed


async def test_an_unsigned_report_has_no_effect(
    sent: Sent, capsys: pytest.CaptureFixture[str]
) -> None:
    form = {"MessageSid": "SM1", "MessageStatus": "undelivered"}
    address = sent.fake.messages[0]["StatusCallback"]
    assert (await sent.fake.call(address, form, token=b"another")).status_code == 400
    assert (await sent.fake.call(address, form, behind="?a=1")).status_code == 400
    assert capsys.readouterr().out.count("CALLBACK_FORGED") == 2
    stop = {"From": NUMBER, "Body": "STOP", "MessageSid": "SM2"}
    assert (await sent.fake.call(sent.incoming, stop, token=b"another")).status_code == 400
    assert await sent.contacts() == [("SMS", "ACCEPTED", False)]
    assert await sent.harness.rows(_SUPPRESSED) == []


async def test_a_signed_report_on_an_unknown_message_is_stored_as_unmatched(sent: Sent) -> None:
    address = f"{sent.served.origin}/callbacks/channels/{NAME}/{'a' * 45}"
    form = {"MessageSid": "SM9", "MessageStatus": "failed"}
    assert (await sent.fake.call(address, form)).status_code == 200
    assert await sent.contacts() == [("SMS", "ACCEPTED", False)]
    rows = await sent.harness.rows("SELECT communication_id FROM delivery_reports WHERE $1 > 0")
    assert [row[0] for row in rows] == [None]


async def test_a_stop_message_is_confirmed_once(sent: Sent) -> None:
    for number, confirmed in (("SM1", True), ("SM1", False), ("SM2", False)):
        form = {"From": NUMBER, "To": "+4930123", "Body": "Stopp!", "MessageSid": number}
        answer = await sent.fake.call(sent.incoming, form)
        assert answer.status_code == 200
        assert ("Sie erhalten keine SMS mehr." in answer.text) is confirmed
    assert [tuple(row) for row in await sent.harness.rows(_SUPPRESSED)] == [("SMS", "DEBTOR")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"credentials": Credentials(user="AC2", password_file="token")}, "not a gateway of this"),
        ({"networks": ()}, "does not respond"),
    ],
)
async def test_doctor_reports_the_faults_of_a_delivery_provider(
    fake: FakeTwilio, change: dict[str, Any], words: str | None
) -> None:
    provider = msgspec.structs.replace(a_provider(fake.address), **change)
    fake.refusals = [(400, 21604)]
    found = await check_gateway(NAME, provider, SECRETS, KEYS)
    assert found.is_fault == (words is not None)
    assert words is None or words in found.words
    assert fake.messages == []


async def test_doctor_reports_a_wrong_password(fake: FakeTwilio) -> None:
    secrets = dict.fromkeys(SECRETS, b"another")
    found = await check_gateway(NAME, a_provider(fake.address), secrets, KEYS)
    assert found.words == "the gateway refuses the user or the password"
