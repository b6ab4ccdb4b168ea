"""The SMTP channel with a mail server of the tests: which messages were certainly not sent, and
which may have been."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any
from uuid import UUID

import aiosmtplib
import pytest

from dunwell.accounts.installation.delivery_providers import SmtpProvider
from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.adapters.channels.smtp.connections import parse_host
from dunwell.adapters.channels.smtp.return_addresses import ReturnAddress, parse_return_address
from dunwell.contact.sending.channel import Accepted, Permanent, Temporary
from dunwell.contact.sending.report import Reference
from dunwell.platform.crypto import KeyRing
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.support.certificates import write_certificate
from tests.support.mail_servers import MailServer, a_mail_server
from tests.support.mail_texts import read_email
from tests.support.messages import a_message
from tests.support.smtp_providers import a_provider

KEYS = KeyRing({1: b"k" * 32})


@asynccontextmanager
async def a_channel(
    provider: SmtpProvider, secrets: dict[str, bytes] | None = None, **given: Any
) -> AsyncIterator[SmtpChannel]:
    channel = SmtpChannel("post", provider, secrets or {}, KEYS, **given)
    try:
        yield channel
    finally:
        await channel.close()


@pytest.fixture
async def sink() -> AsyncIterator[MailServer]:
    async with a_mail_server() as sink:
        yield sink


class TestSmtp(ChannelContract):
    @pytest.fixture
    async def channel(self, sink: MailServer) -> AsyncIterator[ChannelUnderTest]:
        async with a_channel(a_provider(sink.port)) as channel:
            yield ChannelUnderTest(
                channel,
                lambda: [read_email(each.content) for each in sink.taken],
                "ada@example.org, x@example.org",
            )


async def test_each_message_has_its_own_return_addresses(sink: MailServer) -> None:
    async with a_channel(a_provider(sink.port)) as channel:
        await channel.send(a_message(merchant_id=7))
    [taken] = sink.taken
    reference = Reference(7, UUID("01900000-0000-7000-8000-000000000001"))
    message = message_from_bytes(taken.content, policy=default)
    assert parse_return_address(KEYS, taken.sender) == ReturnAddress("bounce", reference)
    assert parse_return_address(KEYS, message["Reply-To"]) == ReturnAddress("reply", reference)
    assert taken.sender.endswith("@returns.example.com")
    assert message["From"].addresses[0].addr_spec == "claims@nordwind.example"
    assert message["Message-ID"] == "<01900000-0000-7000-8000-000000000001@nordwind.example>"


async def test_without_a_return_domain_the_envelope_has_the_senders_address(
    sink: MailServer,
) -> None:
    async with a_channel(a_provider(sink.port, returnDomain=None)) as channel:
        await channel.send(a_message())
    [taken] = sink.taken
    assert taken.sender == "claims@nordwind.example"
    assert b"Reply-To: hilfe@nordwind.example\r\n" in taken.content


async def test_a_message_has_headers_for_one_click_unsubscription(sink: MailServer) -> None:
    async with a_channel(a_provider(sink.port)) as channel:
        await channel.send(a_message(unsubscribe_url="https://pay.example/u/abc"))
    message = message_from_bytes(sink.taken[0].content, policy=default)
    assert message["List-Unsubscribe"] == "<https://pay.example/u/abc>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_the_servers_response_to_an_accepted_message_is_kept(sink: MailServer) -> None:
    async with a_channel(a_provider(sink.port)) as channel:
        answer = await channel.send(a_message())
    assert answer == Accepted("250 2.0.0 OK: queued as 00000001")


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("nobody", Permanent("The mail server refused it: 550 5.1.1.", "ADDRESS")),
        ("policy", Permanent("The mail server refused it: 554 5.7.1.", "ABOUT_US")),
        ("late-refusal", Permanent("The mail server refused it: 554 5.6.0.")),
        ("grey", Temporary()),
        ("busy", Temporary()),
    ],
)
async def test_a_refusal_is_permanent_or_temporary(
    sink: MailServer, word: str, outcome: Permanent | Temporary
) -> None:
    async with a_channel(a_provider(sink.port)) as channel:
        assert await channel.send(a_message(recipient=f"ada+{word}@example.org")) == outcome
        # The connection can be used for the next message.
        assert isinstance(await channel.send(a_message()), Accepted)
    assert [each.recipient for each in sink.taken] == ["ada@example.org"]
    assert sink.connections == 1


async def test_a_refusal_of_the_sender_does_not_suppress_the_recipient(sink: MailServer) -> None:
    async with a_channel(a_provider(sink.port, returnDomain=None)) as channel:
        outcome = await channel.send(a_message(sender="claims+nobody@nordwind.example"))
    assert outcome == Permanent("The mail server refused it: 550 5.1.1.")


async def test_a_greylisted_message_is_accepted_at_the_second_attempt(sink: MailServer) -> None:
    message = a_message(recipient="ada+grey@example.org")
    async with a_channel(a_provider(sink.port)) as channel:
        assert await channel.send(message) == Temporary()
        assert isinstance(await channel.send(message), Accepted)


async def test_a_server_that_stalls_before_the_content_has_not_accepted_the_message(
    sink: MailServer,
) -> None:
    async with a_channel(a_provider(sink.port), send_seconds=0.3) as channel:
        message = a_message(recipient="a+stall-before@example.org")
        assert await channel.send(message) == Temporary()
    assert sink.taken == []


@pytest.mark.parametrize("word", ["stall-after", "die-after"])
async def test_without_a_response_after_the_content_the_outcome_is_unknown(
    sink: MailServer, word: str
) -> None:
    async with a_channel(a_provider(sink.port), send_seconds=0.5) as channel:
        with pytest.raises((TimeoutError, OSError)):
            await channel.send(a_message(recipient=f"ada+{word}@example.org"))
    assert len(sink.taken) == 1


async def test_an_invalid_response_after_the_content_is_not_a_refusal(sink: MailServer) -> None:
    """If it were taken for a refusal, the message would be sent twice."""
    async with a_channel(a_provider(sink.port)) as channel:
        with pytest.raises(aiosmtplib.SMTPResponseException):
            await channel.send(a_message(recipient="ada+garble-after@example.org"))
    assert len(sink.taken) == 1


async def test_an_unavailable_server_is_a_temporary_failure() -> None:
    async with a_mail_server() as sink:
        port = sink.port
    async with a_channel(a_provider(port)) as channel:
        assert await channel.send(a_message()) == Temporary()


async def test_one_connection_sends_one_message_at_a_time(sink: MailServer) -> None:
    provider = a_provider(sink.port, pace={"atOnce": 3})
    async with a_channel(provider) as channel:
        sends = [
            channel.send(a_message(communication_id=UUID(int=n), recipient=f"n{n}@example.org"))
            for n in range(30)
        ]
        answers = await asyncio.gather(*sends)
    assert len({answer.answer for answer in answers if isinstance(answer, Accepted)}) == 30
    assert sorted(each.recipient for each in sink.taken) == sorted(
        f"n{n}@example.org" for n in range(30)
    )
    for each in sink.taken:
        assert f"To: {each.recipient}\r\n".encode() in each.content
    assert sink.connections <= 3


async def test_a_connection_that_breaks_before_the_content_is_replaced_at_once(
    sink: MailServer,
) -> None:
    async with a_channel(a_provider(sink.port)) as channel:
        assert isinstance(await channel.send(a_message()), Accepted)
        sink.drops_next = True
        assert isinstance(await channel.send(a_message()), Accepted)
    assert (sink.connections, len(sink.taken)) == (2, 2)


async def test_a_connection_that_the_server_closed_is_replaced() -> None:
    async with a_mail_server(timeout=0.2) as sink, a_channel(a_provider(sink.port)) as channel:
        assert isinstance(await channel.send(a_message()), Accepted)
        await asyncio.sleep(0.5)
        assert isinstance(await channel.send(a_message()), Accepted)
        assert sink.connections == 2


@pytest.mark.filterwarnings("ignore")  # aiosmtpd warns about passwords without encryption.
@pytest.mark.parametrize("encryption", ["TLS", "STARTTLS"])
async def test_the_connection_is_encrypted_and_authenticated(
    encryption: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = write_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    given = {"auth_required": True, "auth_require_tls": encryption == "STARTTLS"}
    async with a_mail_server(context=context, is_tls=encryption == "TLS", **given) as sink:
        credentials = {"user": "dunwell", "passwordFile": "p"}
        provider = a_provider(
            sink.port, encryption=encryption, credentials=credentials,
            server=f"localhost:{sink.port}",
        )  # fmt: skip
        name = "deliveryProviders/post/credentials/passwordFile"
        async with a_channel(provider, {name: b"right\n"}) as channel:
            assert isinstance(await channel.send(a_message()), Accepted)
        async with a_channel(provider, {name: b"wrong"}) as channel:
            # A wrong configuration is not a fault of the message, so the message waits.
            assert await channel.send(a_message()) == Temporary(300)
    assert (len(sink.taken), set(sink.logins)) == (1, {"dunwell"})


@pytest.mark.parametrize("encryption", ["TLS", "STARTTLS"])
async def test_a_server_with_an_untrusted_certificate_is_refused(
    encryption: str, tmp_path: Path
) -> None:
    context = write_certificate(tmp_path, "localhost")
    async with a_mail_server(context=context, is_tls=encryption == "TLS") as sink:
        provider = a_provider(sink.port, encryption=encryption, server=f"localhost:{sink.port}")
        async with a_channel(provider) as channel:
            assert await channel.send(a_message()) == Temporary()
    assert sink.taken == []


async def test_a_server_without_starttls_is_refused(sink: MailServer) -> None:
    async with a_channel(a_provider(sink.port, encryption="STARTTLS")) as channel:
        assert await channel.send(a_message()) == Temporary()
    assert sink.taken == []


async def test_a_non_ascii_address_needs_a_server_that_supports_it() -> None:
    message = a_message(recipient="ädä@example.org")
    async with a_mail_server() as sink, a_channel(a_provider(sink.port)) as channel:
        words = "The mail server does not accept an address with such letters."
        assert await channel.send(message) == Permanent(words)
    async with (
        a_mail_server(enable_SMTPUTF8=True) as sink,
        a_channel(a_provider(sink.port)) as channel,
    ):
        assert isinstance(await channel.send(message), Accepted)
        assert [each.recipient for each in sink.taken] == ["ädä@example.org"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("mail.example.com:587", ("mail.example.com", 587)),
        ("mail.example.com", ("mail.example.com", 465)),
        ("[::1]:25", ("::1", 25)),
        ("[::1]", ("::1", 465)),
    ],
)
def test_the_address_of_a_server_may_have_a_port(text: str, read: tuple[str, int]) -> None:
    assert parse_host(text, 465) == read
