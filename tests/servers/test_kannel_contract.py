"""A real Kannel fulfils the contract of every channel."""

import signal
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dunwell.adapters.channels import gateway
from dunwell.adapters.channels.gateway import UnclearResponse
from dunwell.adapters.channels.kannel.channel import KannelChannel
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Temporary
from dunwell.interfaces.cli.findings.gateways import check_gateway
from dunwell.platform.crypto import KeyRing
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.servers.kannel import PASSWORD, Kannel
from tests.servers.sms_world import NAME, SECRETS, a_provider, wait_until
from tests.support.messages import a_message

KEYS = KeyRing({1: bytes(range(32))})
URL = "https://pay.example.com"
_MESSAGE = a_message(channel="SMS", recipient="+4915112345678", sender="Nordwind")


class Arriving(KannelChannel):
    """Kannel accepts a message once it is stored; this adapter waits until the SMS centre has
    it."""

    kannel: Kannel
    taken = 0

    async def send(self, message: Message) -> Outcome:
        outcome = await super().send(message)
        if isinstance(outcome, Accepted):
            self.taken += 1
            await wait_until(self._has_arrived)
        return outcome

    async def _has_arrived(self) -> bool:
        return len(self.kannel.centre.read_messages()) >= self.taken


@pytest.fixture
async def adapter(kannel: Kannel) -> AsyncIterator[Arriving]:
    channel = Arriving(NAME, a_provider(kannel.address), SECRETS, KEYS, URL)
    channel.kannel = kannel
    yield channel
    await channel.close()


class TestKannel(ChannelContract):
    @pytest.fixture
    def channel(self, kannel: Kannel, adapter: Arriving) -> ChannelUnderTest:
        def received() -> list[str]:
            return [text for _, text in kannel.centre.read_messages()]

        return ChannelUnderTest(adapter, received, "0151 12345678")


async def test_a_long_text_arrives_as_one_message(kannel: Kannel, adapter: Arriving) -> None:
    text = "Österreich kostet 10 € " * 20
    assert await adapter.send(replace(_MESSAGE, body_text=text)) == Accepted(
        "0: Accepted for delivery"
    )

    async def is_whole() -> bool:
        return len(kannel.centre.accepted) == 4

    await wait_until(is_whole)
    assert kannel.centre.read_messages() == [("4915112345678", text)]
    assert [each.wants_receipt for each in kannel.centre.accepted] == [True, False, False, False]


async def test_kannel_sends_as_many_parts_as_were_counted(
    kannel: Kannel, adapter: Arriving
) -> None:
    """The number of parts determines the price. Tested at each limit and with characters that count
    twice."""
    texts = [
        letter * length
        for letter, lengths in (
            ("a", (160, 161, 306, 307, 1_530)), ("€", (80, 81, 152, 153)),
            ("漢", (70, 71, 134, 135, 670)),
        )
        for length in lengths
    ] + ["a" * 152 + "€" + "a" * 152, "a" * 152 + "€" + "a" * 153]  # fmt: skip
    counted, sent = [], []
    for text in texts:
        before = len(kannel.centre.submitted)
        outcome = await adapter.send(replace(_MESSAGE, body_text=text))
        assert isinstance(outcome, Accepted)
        counted.append(count_parts(text).count)
        first = kannel.centre.submitted[before]

        async def is_whole(most: int = first.parts, since: int = before) -> bool:
            return len(kannel.centre.submitted) - since >= most

        await wait_until(is_whole)
        sent.append(first.parts)
    await kannel.wait_until_empty()
    assert sent == counted
    assert len(kannel.centre.submitted) == sum(counted)


async def test_a_wrong_password_is_a_temporary_failure_and_is_logged(
    kannel: Kannel, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = {f"deliveryProviders/{NAME}/credentials/passwordFile": b"another"}
    channel = KannelChannel(NAME, a_provider(kannel.address), secrets, KEYS, URL)
    assert await channel.send(_MESSAGE) == Temporary(300)
    await channel.close()
    assert kannel.centre.submitted == []
    assert "gateway rejected credentials" in capsys.readouterr().out


async def test_an_unreachable_gateway_is_a_temporary_failure(
    kannel: Kannel, adapter: Arriving
) -> None:
    await kannel.end_box("smsbox")
    assert await adapter.send(_MESSAGE) == Temporary()


async def test_a_gateway_that_does_not_answer_leaves_the_outcome_unclear(
    kannel: Kannel, adapter: Arriving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """smsbox waits for the response of the bearerbox."""
    kannel.boxes["bearerbox"].send_signal(signal.SIGSTOP)
    monkeypatch.setattr(gateway, "_REQUEST_SECONDS", 0.5)
    try:
        with pytest.raises(UnclearResponse, match="timed out"):
            await adapter.send(_MESSAGE)
    finally:
        kannel.boxes["bearerbox"].send_signal(signal.SIGCONT)


@pytest.mark.parametrize("networks", [(), ("10.0.0.0/8",)])
async def test_the_adapter_connects_only_to_configured_networks(
    kannel: Kannel, networks: tuple[str, ...]
) -> None:
    provider = a_provider(kannel.address, networks=networks)
    channel = KannelChannel(NAME, provider, SECRETS, KEYS, URL)
    assert await channel.send(_MESSAGE) == Temporary()
    await channel.close()
    assert kannel.centre.submitted == []


@pytest.mark.parametrize(("password", "is_fault"), [(PASSWORD, False), (b"another", True)])
async def test_doctor_reports_whether_the_gateway_accepts_the_credentials(
    kannel: Kannel, password: bytes, is_fault: bool
) -> None:
    secrets = {f"deliveryProviders/{NAME}/credentials/passwordFile": password}
    found = await check_gateway(NAME, a_provider(kannel.address), secrets, KEYS)
    assert found.is_fault is is_fault
    assert kannel.centre.submitted == []
