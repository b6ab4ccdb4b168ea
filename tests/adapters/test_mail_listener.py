"""The mail listener: which messages it accepts, for which recipients, and that it never relays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import aiosmtplib
import pytest

from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.listener import MAX_BYTES, MailHandler, Protocol, listen
from dunwell.core.claims.store import lock_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bounces import a_block, a_plain_mail, a_report
from tests.support.children import MAIL_READER
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import ScriptedDeliveryProvider
from tests.support.smtp_providers import a_provider

_REPORT = a_report(a_block("failed", "5.1.1"))
_SAVED = "SELECT state, reason, communication_id, provider FROM delivery_reports"
_STRANGERS = """
INSERT INTO delivery_reports (report_id, provider, provider_message_id, state, reason, cause,
    raw, received_at,
                             outcome)
SELECT gen_random_uuid(), 'post', n::text, 'DELAYED', '', 'OTHER', '', $1, 'UNMATCHED'
FROM generate_series(1, $2) n
"""
_LONGEST = "SELECT max(length(raw)) FROM delivery_reports WHERE communication_id IS NULL"
_MESSAGE = UUID("01900000-0000-7000-8000-000000000001")


@asynccontextmanager
async def a_listener(
    resources: Resources, protocol: Protocol = "SMTP", max_connections: int = 20
) -> AsyncIterator[int]:
    providers = {"post": a_provider(25)}
    handler = MailHandler(
        resources, MAIL_READER, lambda: providers, max_connections=max_connections
    )
    async with listen(handler, protocol, "127.0.0.1", 0) as port:
        yield port


@asynccontextmanager
async def a_client(port: int) -> AsyncIterator[aiosmtplib.SMTP]:
    client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False, timeout=10)
    await client.connect()
    try:
        yield client
    finally:
        client.close()


def bounce(resources: Resources) -> str:
    return build_return_address(
        resources.keys, "bounce", "returns.example.com", merchant_id=7, communication_id=_MESSAGE
    )


async def saved(resources: Resources) -> list[tuple[object, ...]]:
    async with resources.database.connection() as connection:
        return [tuple(row) for row in await connection.fetch(_SAVED)]


async def test_a_report_is_stored_before_it_is_confirmed_and_once_if_it_is_repeated(
    resources: Resources,
) -> None:
    async with a_listener(resources) as port, a_client(port) as client:
        for _ in range(2):
            await client.mail("")
            await client.rcpt(bounce(resources))
            assert (await client.data(_REPORT)).code == 250
        assert await saved(resources) == [("FAILED", "5.1.1", _MESSAGE, "post")]


@pytest.mark.parametrize("sender", ["", "x@elsewhere.example"])
async def test_the_listener_does_not_relay(resources: Resources, sender: str) -> None:
    """This also holds for a valid return address under a domain that is not ours."""
    ours_elsewhere = bounce(resources).replace("returns.example.com", "elsewhere.example")
    async with a_listener(resources) as port, a_client(port) as client:
        for recipient in ("x@elsewhere.example", ours_elsewhere):
            await client.mail(sender)
            with pytest.raises(aiosmtplib.SMTPRecipientRefused) as refused:
                await client.rcpt(recipient)
            assert (refused.value.code, refused.value.message[:5]) == (550, "5.7.1")
            await client.rset()
    assert await saved(resources) == []


async def test_an_unknown_address_is_refused_with_an_explanation(resources: Resources) -> None:
    async with a_listener(resources) as port, a_client(port) as client:
        await client.mail("erika@customer.example")
        with pytest.raises(aiosmtplib.SMTPRecipientRefused) as refused:
            await client.rcpt("reply+nonsense@returns.example.com")
        assert (refused.value.code, refused.value.message) == (
            550, "5.1.1 There is no such address",
        )  # fmt: skip


async def test_a_report_on_an_unknown_message_is_stored_as_unmatched(resources: Resources) -> None:
    async with a_listener(resources) as port, a_client(port) as client:
        await client.mail("")
        await client.rcpt("bounce+nonsense@returns.example.com")
        assert (await client.data(_REPORT)).code == 250
    assert await saved(resources) == [("FAILED", "5.1.1", None, "post")]


async def test_a_reply_to_a_deleted_message_is_refused_with_an_explanation(
    resources: Resources,
) -> None:
    reply = bounce(resources).replace("bounce", "reply")
    async with a_listener(resources) as port, a_client(port) as client:
        await client.mail("erika@customer.example")
        await client.rcpt(reply)
        with pytest.raises(aiosmtplib.SMTPDataError) as refused:
            await client.data(a_plain_mail("erika@customer.example", "Re", "I paid."))
        assert (refused.value.code, refused.value.message) == (
            550, "5.1.1 The claim of this message no longer accepts replies",
        )  # fmt: skip


async def test_a_message_with_too_many_bytes_is_refused(resources: Resources) -> None:
    async with a_listener(resources) as port, a_client(port) as client:
        await client.mail("")
        await client.rcpt(bounce(resources))
        with pytest.raises(aiosmtplib.SMTPDataError) as refused:
            await client.data(b"Subject: x\r\n\r\n" + (b"z" * 76 + b"\r\n") * (MAX_BYTES // 78 + 1))
        assert refused.value.code == 552
    assert await saved(resources) == []


async def test_a_message_with_too_many_lines_is_refused_before_its_end(
    resources: Resources,
) -> None:
    async with a_listener(resources) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        commands = ["HELO x", "MAIL FROM:<>", f"RCPT TO:<{bounce(resources)}>", "DATA"]
        await reader.readline()
        for words in commands:
            writer.write(words.encode() + b"\r\n")
            await reader.readline()
        with suppress(ConnectionError):
            # The message has no end. The refusal is sent before it.
            for _ in range(400):
                writer.write(b"\r\n" * 1_000)
                await writer.drain()
        assert (await reader.readline())[:3] == b"552"
        writer.close()
    assert await saved(resources) == []


async def test_too_many_connections_are_refused(resources: Resources) -> None:
    async with a_listener(resources, max_connections=2) as port, a_client(port), a_client(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await reader.readline()).startswith(b"421 ")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_connections_to_one_listener_do_not_block_the_other(
    resources: Resources, clock: MovableClock
) -> None:
    """Neither open connections nor messages that wait, here replies to a locked claim, block the
    other listener."""
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    [claim_id] = await harness.create()
    await harness.run()
    reply = build_return_address(
        resources.keys, "reply", "returns.example.com",
        merchant_id=harness.merchant.merchant_id,
        communication_id=provider.sent[0].communication_id,
    )  # fmt: skip
    handler = MailHandler(
        resources, MAIL_READER, lambda: {"post": a_provider(25)}, max_connections=2
    )

    async def answer(client: aiosmtplib.SMTP, number: int) -> None:
        await client.mail("erika@customer.example")
        await client.rcpt(reply)
        await client.data(a_plain_mail("erika@customer.example", f"Re {number}", "I paid."))

    async with (
        listen(handler, "SMTP", "127.0.0.1", 0) as smtp,
        listen(handler, "LMTP", "127.0.0.1", 0) as lmtp,
        a_client(smtp) as one,
        a_client(smtp) as two,
    ):
        async with harness.work() as work:
            assert await lock_claim(work.tx, work.merchant_id, claim_id)
            waiting = [asyncio.create_task(answer(each, n)) for n, each in enumerate((one, two))]
            async with asyncio.timeout(20):
                while not handler.is_busy("SMTP"):  # noqa: ASYNC110 - no event signals this
                    await asyncio.sleep(0.01)
                assert await bring_by_lmtp(lmtp, bounce(resources)) == b"250"
            assert not any(each.done() for each in waiting)
        await asyncio.gather(*waiting)
    assert len(await saved(resources)) == 1


async def bring_by_lmtp(port: int, recipient: str) -> bytes:
    """Send a message by LMTP and return the code of the last response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.readline()
    commands = ("LHLO mail.example.com", "MAIL FROM:<>", f"RCPT TO:<{recipient}>", "DATA")
    for words in (*(each.encode() for each in commands), _REPORT + b"\r\n."):
        writer.write(words + b"\r\n")
        answer = await reader.readline()
        while answer[3:4] == b"-":
            answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return answer[:3]


async def test_lmtp_accepts_one_recipient_at_a_time(resources: Resources) -> None:
    async with a_listener(resources, "LMTP") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def say(command: str) -> bytes:
            writer.write(command.encode() + b"\r\n")
            answer = await reader.readline()
            while answer[3:4] == b"-":
                answer = await reader.readline()
            return answer[:3]

        await reader.readline()
        assert await say("LHLO mail.example.com") == b"250"
        assert await say("MAIL FROM:<>") == b"250"
        assert await say(f"RCPT TO:<{bounce(resources)}>") == b"250"
        assert await say(f"RCPT TO:<{bounce(resources)}>") == b"452"
        assert await say("DATA") == b"354"
        writer.write(_REPORT + b"\r\n.\r\n")
        assert (await reader.readline())[:3] == b"250"
        writer.close()
        await writer.wait_closed()
    assert len(await saved(resources)) == 1


async def test_unauthenticated_senders_cannot_fill_the_disk(resources: Resources) -> None:
    """The number of stored reports on one message, and on unknown messages, is limited, and so is
    the length of each."""
    async with a_listener(resources) as port, a_client(port) as client:
        answers = [await a_try(client, bounce(resources), number) for number in range(41)]
        assert answers == [250] * 40 + [452]
        async with resources.database.transaction() as tx:
            await tx.execute(_STRANGERS, resources.clock.now(), 999)
        stranger = "postmaster@returns.example.com"
        assert [await a_try(client, stranger, number) for number in range(50, 53)] == [
            250, 452, 452,
        ]  # fmt: skip
        async with resources.database.connection() as connection:
            assert await connection.fetchval(_LONGEST) == 16_384


async def a_try(client: aiosmtplib.SMTP, recipient: str, number: int) -> int:
    content = _REPORT.replace(b"report-1", b"report-%d" % number) + b"x\r\n" * 7_000
    await client.mail("")
    await client.rcpt(recipient)
    try:
        return (await client.data(content)).code
    except aiosmtplib.SMTPDataError as refused:
        return refused.code
