"""Replies to e-mails: stored with the claim, which pauses until staff have read them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.receive_mail import receive_mail
from dunwell.cases.replies.receive_reply import ReplyOutcome, list_unread_replies, mark_replies_read
from dunwell.cases.replies.reply import compute_hold_end, open_reply
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.operations.claim_status.timeline import list_timeline
from dunwell.operations.dashboards.overview import (
    AttentionItem,
    AttentionKind,
    count_attention_items,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import Count
from dunwell.platform.resources import Resources
from tests.support.bounces import a_plain_mail
from tests.support.children import MAIL_READER
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import ERP, Harness, ScriptedDeliveryProvider
from tests.support.keys import reseal_table, with_versions

_REPLIES = """
SELECT reply_id, text, is_automatic, read_at, read_by, raw_sealed, file_names
FROM debtor_replies WHERE merchant_id = $1 ORDER BY received_at, reply_id
"""
_HOLDS = """
SELECT kind, until, lifted_at, reason, actor_kind FROM holds WHERE merchant_id = $1 ORDER BY since
"""
_MAIL = a_plain_mail("erika@customer.example", "Re: Reminder", "I paid last week.")


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness_with_a_provider(resources, clock, ScriptedDeliveryProvider())
    await harness.create()
    await harness.run()
    return harness


async def contact(harness: Harness) -> tuple[int, UUID]:
    [row] = await harness.rows(
        "SELECT claim_id, communication_id FROM communications WHERE merchant_id = $1"
    )
    return row["claim_id"], row["communication_id"]


async def answer(
    harness: Harness, content: bytes = _MAIL, sender: str = "erika@customer.example", **changes: Any
) -> ReplyOutcome:
    _, contact_id = await contact(harness)
    named: dict[str, Any] = {
        "merchant_id": harness.merchant.merchant_id,
        "communication_id": contact_id,
    } | changes
    address = build_return_address(harness.resources.keys, "reply", "returns.example.com", **named)
    return await receive_mail(
        harness.resources, MAIL_READER, Envelope("post", sender, address, content)
    )


async def test_a_reply_is_stored_and_pauses_the_claim_for_three_business_days(
    harness: Harness,
) -> None:
    assert await answer(harness) is ReplyOutcome.NEW
    [reply] = await harness.rows(_REPLIES)
    assert (reply["text"], reply["is_automatic"], reply["read_at"]) == (
        "I paid last week.", False, None,
    )  # fmt: skip
    [hold] = await harness.rows(_HOLDS)
    # From Monday to the end of Thursday in Berlin.
    until = datetime(2026, 3, 5, 23, 0, tzinfo=UTC)
    assert tuple(hold) == ("PAUSE", until, None, "REPLY", "SYSTEM")
    claim_id, _ = await contact(harness)
    async with harness.work() as work:
        life = await list_timeline(work, claim_id)
    [entry] = [each for each in life if each.kind == "REPLY"]
    assert (entry.word, entry.text) == ("UNSEEN", "I paid last week.")


async def test_a_reply_is_stored_sealed_as_it_was_received(harness: Harness) -> None:
    await answer(harness)
    [reply] = await harness.rows(_REPLIES)
    assert b"last week" not in reply["raw_sealed"]
    opened = open_reply(
        harness.resources.keys, harness.merchant.merchant_id, reply["reply_id"], reply["raw_sealed"]
    )
    assert opened == _MAIL


async def test_a_reply_is_reencrypted_with_a_newer_key(harness: Harness) -> None:
    await answer(harness)
    await reseal_table(with_versions(harness.resources, 2, 1), "debtor_replies")
    [reply] = await harness.rows(_REPLIES)
    newer = with_versions(harness.resources, 2).keys
    ids = harness.merchant.merchant_id, reply["reply_id"]
    assert open_reply(newer, *ids, reply["raw_sealed"]) == _MAIL


async def test_a_reply_received_twice_is_stored_once(harness: Harness) -> None:
    assert await answer(harness) is ReplyOutcome.NEW
    assert await answer(harness) is ReplyOutcome.KNOWN
    assert len(await harness.rows(_REPLIES)) == 1
    assert len(await harness.rows(_HOLDS)) == 1


@pytest.mark.parametrize("mark", ["Auto-Submitted", "Precedence"])
async def test_an_automatic_reply_opens_no_hold(harness: Harness, mark: str) -> None:
    value = {"Auto-Submitted": "auto-replied", "Precedence": "bulk"}[mark]
    mail = a_plain_mail("erika@customer.example", "Away", "I am away.", **{mark: value})
    assert await answer(harness, mail) is ReplyOutcome.NEW
    assert await harness.rows(_HOLDS) == []
    [reply] = await harness.rows(_REPLIES)
    assert reply["is_automatic"]
    async with harness.work(ERP) as work:
        assert await list_unread_replies(work) == []


async def test_a_reply_with_a_null_sender_opens_no_hold(harness: Harness) -> None:
    assert await answer(harness, sender="") is ReplyOutcome.NEW
    assert await harness.rows(_HOLDS) == []


async def test_reading_a_reply_lifts_only_its_hold(harness: Harness) -> None:
    await answer(harness)
    claim_id, _ = await contact(harness)
    async with harness.work() as work:
        await mark_replies_read(work, claim_id)
        await mark_replies_read(work, claim_id)
    [hold] = await harness.rows(_HOLDS)
    assert hold["lifted_at"] == harness.clock.now()
    [reply] = await harness.rows(_REPLIES)
    assert (reply["read_at"], reply["read_by"]) == (harness.clock.now(), "erp")
    audit = await harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action LIKE 'reply.%' ORDER BY 1"
    )
    assert [row["action"] for row in audit] == ["reply.see", "reply.take"]


async def test_reading_a_reply_does_not_lift_a_pause_by_the_merchant(harness: Harness) -> None:
    claim_id, _ = await contact(harness)
    async with harness.work() as work:
        await pause_claim(work, claim_id, reason="call")
    await answer(harness)
    async with harness.work() as work:
        await mark_replies_read(work, claim_id)
    holds = {row["reason"]: row["lifted_at"] for row in await harness.rows(_HOLDS)}
    assert holds == {"call": None, "REPLY": harness.clock.now()}


async def test_the_pause_of_a_reply_ends_automatically(harness: Harness) -> None:
    await answer(harness)
    await harness.run_until(harness.clock.now() + timedelta(days=4))
    [hold] = await harness.rows(_HOLDS)
    assert hold["lifted_at"] is not None


async def test_a_reply_to_an_ended_claim_opens_no_hold(harness: Harness) -> None:
    claim_id, _ = await contact(harness)
    async with harness.work() as work:
        await withdraw_claim(work, claim_id)
    assert await answer(harness) is ReplyOutcome.NEW
    assert await harness.rows(_HOLDS) == []


async def test_a_reply_without_a_known_message_is_not_stored(harness: Harness) -> None:
    assert await answer(harness, communication_id=UUID(int=7)) is ReplyOutcome.GONE
    assert await answer(harness, merchant_id=2_000_000) is ReplyOutcome.GONE
    assert await harness.rows(_REPLIES) == []


async def test_the_number_of_stored_replies_is_limited(harness: Harness) -> None:
    mails = [_MAIL.replace(b"plain-1", b"plain-%d" % n) for n in range(21)]
    taken = [await answer(harness, mail) for mail in mails]
    assert taken == [ReplyOutcome.NEW] * 20 + [ReplyOutcome.TOO_MANY]


def test_three_business_days_do_not_include_the_weekend() -> None:
    friday = datetime(2026, 3, 6, 12, tzinfo=UTC)
    assert compute_hold_end(friday, "Europe/Berlin").astimezone(UTC) == datetime(
        2026, 3, 11, 23, tzinfo=UTC
    )


async def test_a_reply_is_listed_as_unread_until_it_is_read(
    harness: Harness, clock: MovableClock
) -> None:
    await answer(harness)
    came_at = clock.now()
    clock.advance(timedelta(hours=1))
    number = {"Message-ID": "<another@customer.example>"}
    again = a_plain_mail("erika@customer.example", "Re: Reminder", "x" * 500, **number)
    await answer(harness, again)
    async with harness.work(ERP) as work:
        [first, second] = await list_unread_replies(work)
        waiting = (await count_attention_items(work))[AttentionKind.UNSEEN_REPLIES]
    assert (first.received_at, first.subject, first.excerpt) == (
        came_at, "Re: Reminder", "I paid last week.",
    )  # fmt: skip
    assert len(second.excerpt) == 200
    assert waiting == AttentionItem(Count(2, is_more=False), came_at)
    async with harness.work(ERP) as work:
        await mark_replies_read(work, first.claim_id)
        assert await list_unread_replies(work) == []
        assert (await count_attention_items(work))[AttentionKind.UNSEEN_REPLIES].count.number == 0
