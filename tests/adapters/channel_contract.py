"""Tests that every channel adapter has to pass. Subclass `ChannelContract` and provide `channel`:

class TestOutbox(ChannelContract):
    @pytest.fixture
    def channel(self, tmp_path): ...
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.channel import (
    Accepted,
    ChannelAdapter,
    Message,
    MessageFile,
    Permanent,
)
from tests.support.messages import a_message

_OTHER_ID = UUID("01900000-0000-7000-8000-000000000002")
_RECIPIENTS: dict[Channel, str] = {
    "EMAIL": "ada@example.org",
    "SMS": "+4915112345678",
    "LETTER": "Ada Lovelace\nHeidestraße 17\n51147 Köln",
}


@dataclass(frozen=True)
class ChannelUnderTest:
    """An adapter, and the messages that were received through it, in order."""

    adapter: ChannelAdapter
    # One text for each received message: everything that its reader sees, decoded.
    received: Callable[[], list[str]]
    # An address that the channel cannot send to.
    bad_recipient: str

    def a_message(self, **changes: Any) -> Message:
        """Return a message that the channel can send. A letter consists of its document."""
        channel = self.adapter.channel
        usual: dict[str, Any] = {"channel": channel, "recipient": _RECIPIENTS[channel]}
        if channel == "SMS":
            usual["sender"] = "Nordwind"
        message = a_message(**usual | changes)
        if channel != "LETTER":
            return message
        document = MessageFile("letter.pdf", "application/pdf", message.body_text.encode())
        return replace(message, document=document)


class ChannelContract:
    @pytest.fixture
    @abstractmethod
    def channel(self) -> ChannelUnderTest:
        """Return the adapter, with a simulated receiver if it needs one."""

    async def test_an_accepted_message_arrives_with_its_text(
        self, channel: ChannelUnderTest
    ) -> None:
        message = channel.a_message(body_text="Fällig: 10,00 €, 漢字")
        assert isinstance(await channel.adapter.send(message), Accepted)
        (text,) = channel.received()
        assert "Fällig: 10,00 €, 漢字" in text

    async def test_two_messages_arrive_separately(self, channel: ChannelUnderTest) -> None:
        for message in (channel.a_message(), channel.a_message(communication_id=_OTHER_ID)):
            assert isinstance(await channel.adapter.send(message), Accepted)
        assert len(channel.received()) == 2

    async def test_a_repeatable_channel_sends_one_message_for_one_id(
        self, channel: ChannelUnderTest
    ) -> None:
        if not channel.adapter.is_repeatable:
            pytest.skip("not repeatable: the dispatcher never sends an id twice")
        for _ in range(3):
            assert isinstance(await channel.adapter.send(channel.a_message()), Accepted)
        assert len(channel.received()) == 1

    async def test_an_unusable_address_is_a_permanent_failure(
        self, channel: ChannelUnderTest
    ) -> None:
        outcome = await channel.adapter.send(channel.a_message(recipient=channel.bad_recipient))
        assert isinstance(outcome, Permanent)
        assert channel.bad_recipient.strip() not in outcome.reason
        assert channel.received() == []

    async def test_values_cannot_inject_headers(self, channel: ChannelUnderTest) -> None:
        hostile = "x\r\nBcc: evil@example.org\r\n\r\nX"
        message = channel.a_message(subject=hostile, sender_name=hostile, language=hostile)
        assert isinstance(await channel.adapter.send(message), Accepted)
        (text,) = channel.received()
        assert not [line for line in text.splitlines() if line.lower().startswith("bcc:")]

    async def test_attached_files_are_sent(self, channel: ChannelUnderTest) -> None:
        file = MessageFile("Rechnung für März.pdf", "application/pdf", b"%PDF-1.7 \x00\xff")
        if channel.adapter.channel == "SMS":
            pytest.skip("an SMS carries no files")
        message = channel.a_message(attachments=(file,))
        assert isinstance(await channel.adapter.send(message), Accepted)
        (text,) = channel.received()
        assert "Rechnung für März.pdf" in text
