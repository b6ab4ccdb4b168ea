"""Notices are sent at once and once, whatever a channel or a worker does."""

import asyncio
import re
from datetime import UTC, date, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import httpx
import msgspec
from starlette.applications import Starlette

from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxSms
from dunwell.adapters.channels.outbox.pages import outbox_routes
from dunwell.contact.messages.claim_links import derive_check_code, render_code
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.notices.notice_codes import derive_notice_code, derive_notice_token
from dunwell.contact.notices.occasions.facts import CodeFacts, DeferralFacts, LinkFacts
from dunwell.contact.notices.sender import NoticeSender
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import ScriptedChannel
from tests.support.notices import NoticeHarness, a_notice_harness
from tests.support.recorded_statements import a_counted_database

DEFERMENT = DeferralFacts("INV-1001", "EUR", 10240, date(2026, 4, 1), is_approved=True)
LEASE = timedelta(seconds=20)


class GatedWorker:
    """A worker with gated channels that can die: its calls then never return."""

    def __init__(
        self, notice_harness: NoticeHarness, sent_messages: SentMessages, *, is_open: bool = True
    ) -> None:
        self.gate = asyncio.Event()
        if is_open:
            self.gate.set()
        channels = [
            GatedChannel(sent_messages, "EMAIL", self.gate),
            GatedChannel(sent_messages, "SMS", self.gate),
        ]
        self.sender = NoticeSender(notice_harness.harness.resources, channels)

    async def run(self) -> None:
        while await self.sender.run_once() or not self.sender.is_idle:
            pass


async def _run_until_called(sender: NoticeSender, sent_messages: SentMessages, calls: int) -> None:
    while sent_messages.calls.total() < calls:
        await sender.run_once()


def _find(resources: Resources, ending: str) -> list[bytes]:
    """Return the outbox files with this ending."""
    folder = Path(resources.settings.data_dir)
    return [path.read_bytes() for path in sorted(folder.rglob(f"*.{ending}"))]


def _mails(resources: Resources) -> list[EmailMessage]:
    return [message_from_bytes(each, policy=policy.default) for each in _find(resources, "eml")]


async def test_a_code_is_in_the_email_and_not_in_the_database(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    await notice_harness.run(OutboxEmail(resources.settings.data_dir))
    [mail] = _mails(resources)
    code = derive_notice_code(resources.keys, notice_id)
    for kind in ("plain", "html"):
        body = mail.get_body((kind,))
        assert body is not None
        assert code in body.get_content()
    assert (mail["To"], mail["Subject"]) == ("erika@example.org", "Ihr Code für Nordwind")
    assert "claims@nordwind.example" in mail["From"]
    assert mail["Reply-To"] == "hilfe@nordwind.example"
    [row] = await notice_harness.rows()
    assert (row["state"], row["settled_at"], row["due_at"]) == ("ACCEPTED", clock.now(), None)
    assert code not in str(dict(row))


async def test_an_sms_notice_with_its_link_fits_in_one_part(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request(LinkFacts(), channel="SMS")
    await notice_harness.run(OutboxSms(resources.settings.data_dir))
    [record] = [msgspec.json.decode(each) for each in _find(resources, "json")]
    token = derive_notice_token(resources.keys, notice_id)
    check = render_code(derive_check_code(resources.keys, notice_id))
    assert record["text"] == (
        f"Nordwind: Ihr angeforderter Link: http://127.0.0.1:8000/q/{token}\n"
        f"Echt? 127.0.0.1:8000/real Code {check}"
    )
    assert (record["sender"], record["recipient"]) == ("Nordwind", "+4915112345678")
    assert (record["alphabet"], record["parts"]) == ("GSM-7", 1)


async def test_the_outbox_page_shows_a_notice_like_any_message(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    await notice_harness.run(OutboxEmail(resources.settings.data_dir))
    app = Starlette(routes=outbox_routes(resources))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000"
    ) as client:
        listed = (await client.get("/outbox")).text
        [address] = re.findall(f'href="([^"]*{notice_id})"', listed)
        shown = (await client.get(address)).text
    assert "Ihr Code für Nordwind" in listed
    assert derive_notice_code(resources.keys, notice_id) in shown


async def test_a_notice_is_sent_at_night_on_a_holiday_without_event_ledger_or_guard(
    resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(datetime(2026, 4, 5, 1, 30, tzinfo=UTC))
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request(DEFERMENT)
    await notice_harness.run()
    assert await notice_harness.states() == [("ACCEPTED", None)]
    assert await notice_harness.harness.events(notice_harness.claim_id) == []
    assert (
        await notice_harness.harness.rows("SELECT FROM contact_ledger WHERE merchant_id = $1") == []
    )
    assert (
        await notice_harness.harness.rows("SELECT FROM contact_guards WHERE merchant_id = $1") == []
    )


async def test_a_notice_is_retried_until_its_code_expires(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    channel = ScriptedChannel([Temporary(60)] * 10)
    await notice_harness.request()
    for _ in range(12):
        await notice_harness.run(channel)
        clock.advance(timedelta(seconds=60))
    assert await notice_harness.states() == [("FAILED", "not accepted in time")]
    assert len(channel.sent) == 7
    assert len({message.communication_id for message in channel.sent}) == 1


async def test_a_permanently_refused_notice_is_not_retried(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    channel = ScriptedChannel([Permanent("no such mailbox")])
    await notice_harness.request()
    await notice_harness.run(channel)
    clock.advance(timedelta(days=1))
    await notice_harness.run(channel)
    assert await notice_harness.states() == [("FAILED", "no such mailbox")]
    assert len(channel.sent) == 1


async def test_an_expired_notice_is_not_sent(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request()
    clock.advance(timedelta(minutes=10))
    channel = ScriptedChannel()
    await notice_harness.run(channel)
    assert await notice_harness.states() == [("FAILED", "not accepted in time")]
    assert channel.sent == []


async def test_a_suppressed_address_gets_its_code_and_no_confirmation(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request(DEFERMENT)
    await notice_harness.request(CodeFacts())
    async with notice_harness.harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    channel = ScriptedChannel()
    await notice_harness.run(channel)
    assert await notice_harness.states() == [("FAILED", "suppressed"), ("ACCEPTED", None)]
    assert len(channel.sent) == 1


async def test_suppressions_of_all_merchants_are_loaded_with_one_statement(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harnesses = [
        await a_notice_harness(resources, clock, key=key) for key in ("one", "other")
    ]
    for notice_harness in notice_harnesses:
        for number in range(3):
            await notice_harness.request(DEFERMENT, recipient=f"erika{number}@example.org")
    async with notice_harnesses[1].harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "erika1@example.org", "DEBTOR")
    async with a_counted_database(resources, clock) as (over, statements):
        sender = NoticeSender(over, notice_harnesses[0].harness.channels)
        await sender.run_once()
        asked = [each for each in await statements.take() if "JOIN suppressions" in each]
        while await sender.run_once() or not sender.is_idle:
            pass
    assert len(asked) == 1
    assert await notice_harnesses[0].states() == [("ACCEPTED", None)] * 3
    failed = ("FAILED", "suppressed")
    assert await notice_harnesses[1].states() == [("ACCEPTED", None), failed, ("ACCEPTED", None)]


async def test_without_an_answer_only_a_repeatable_channel_is_called_again(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    sent_messages = SentMessages(
        {"EMAIL": [ConnectionResetError()], "SMS": [ConnectionResetError()]}
    )
    await notice_harness.request()
    await notice_harness.request(channel="SMS")
    worker = GatedWorker(notice_harness, sent_messages)
    await worker.run()
    assert await notice_harness.states() == [("HANDED_OVER", None), ("UNKNOWN", None)]
    clock.advance(timedelta(seconds=5))
    await worker.run()
    assert await notice_harness.states() == [("ACCEPTED", None), ("UNKNOWN", None)]
    assert sent_messages.faults == []


async def test_notices_of_a_dead_worker_are_taken_over_after_its_lease(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    sent_messages = SentMessages()
    email_id = await notice_harness.request()
    sms_id = await notice_harness.request(channel="SMS")
    dead, living = (
        GatedWorker(notice_harness, sent_messages, is_open=False),
        GatedWorker(notice_harness, sent_messages),
    )
    await _run_until_called(dead.sender, sent_messages, 2)
    assert await living.sender.run_once() == 0
    clock.advance(LEASE)
    await living.run()
    assert await notice_harness.states() == [("ACCEPTED", None), ("UNKNOWN", None)]
    assert sent_messages.calls == {email_id: 2, sms_id: 1}
    # Late answers to the dead worker change nothing.
    dead.gate.set()
    await dead.sender.close()
    assert await notice_harness.states() == [("ACCEPTED", None), ("UNKNOWN", None)]
    assert sent_messages.faults == []


async def test_a_notice_of_a_worker_that_died_before_its_call_is_sent_later(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request()
    await notice_harness.harness.rows(
        "UPDATE debtor_notices SET state = 'HANDED_OVER', due_at = $2, lease_id = notice_id,"
        " attempts = 1 WHERE merchant_id = $1",
        clock.now() + LEASE,
    )
    channel = ScriptedChannel()
    await notice_harness.run(channel)
    assert channel.sent == []
    clock.advance(LEASE)
    await notice_harness.run(channel)
    assert await notice_harness.states() == [("ACCEPTED", None)]
    assert len(channel.sent) == 1


async def test_two_workers_send_each_notice_once(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    claims = await notice_harness.harness.create(*(f"INV-{n}" for n in range(30)))
    for number, claim_id in enumerate(claims, 4915112345600):
        await NoticeHarness(notice_harness.harness, claim_id, notice_harness.writer).request(
            channel="SMS", recipient=f"+{number}"
        )
    sent_messages = SentMessages()
    await asyncio.gather(*(GatedWorker(notice_harness, sent_messages).run() for _ in range(2)))
    assert sorted(sent_messages.calls.values()) == [1] * 30
    assert await notice_harness.states() == [("ACCEPTED", None)] * 30


async def test_a_channel_that_hangs_does_not_hold_up_other_channels_or_merchants(
    resources: Resources, clock: MovableClock
) -> None:
    slow = await a_notice_harness(resources, clock, key="slow")
    claims = await slow.harness.create(*(f"INV-{n}" for n in range(20)))
    for number, claim_id in enumerate(claims, 4915112345600):
        await NoticeHarness(slow.harness, claim_id, slow.writer).request(
            channel="SMS", recipient=f"+{number}"
        )
    clock.advance(timedelta(seconds=1))
    await slow.request()
    swift = await a_notice_harness(resources, clock, key="swift")
    await swift.request()
    sent_messages, other_sent_messages = SentMessages(), SentMessages()
    gate, opened = asyncio.Event(), asyncio.Event()
    opened.set()
    channels = [
        GatedChannel(sent_messages, "SMS", gate),
        GatedChannel(other_sent_messages, "EMAIL", opened),
    ]
    sender = NoticeSender(resources, channels)
    await sender.run_once()
    await _run_until_called(sender, other_sent_messages, 2)
    await sender.run_once()
    assert sent_messages.calls.total() == 8
    assert await swift.states() == [("ACCEPTED", None)]
    gate.set()
    while await sender.run_once() or not sender.is_idle:
        pass
    assert sent_messages.calls.total() == 20
    assert {state for state, _ in await slow.states()} == {"ACCEPTED"}
