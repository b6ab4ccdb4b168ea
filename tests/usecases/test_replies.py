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
    list_attention_items,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import Count
from dunwell.platform.resources import Resources
from tests.support.bounces import a_plain_mail
from tests.support.children import MAIL_READER
from tests.support.house import ERP, House, ScriptedLine
from tests.support.keys import reseal_table, with_versions
from tests.support.lines import a_house_with_a_line

_REPLIES = """
SELECT reply_id, text, is_automatic, read_at, read_by, raw_sealed, file_names
FROM debtor_replies WHERE merchant_id = $1 ORDER BY received_at, reply_id
"""
_HOLDS = """
SELECT kind, until, lifted_at, reason, actor_kind FROM holds WHERE merchant_id = $1 ORDER BY since
"""
_MAIL = a_plain_mail("erika@customer.example", "Re: Reminder", "I paid last week.")


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    house = await a_house_with_a_line(resources, clock, ScriptedLine())
    await house.create()
    await house.run()
    return house


async def contact(house: House) -> tuple[int, UUID]:
    [row] = await house.rows(
        "SELECT claim_id, communication_id FROM communications WHERE merchant_id = $1"
    )
    return row["claim_id"], row["communication_id"]


async def answer(
    house: House, content: bytes = _MAIL, sender: str = "erika@customer.example", **changes: Any
) -> ReplyOutcome:
    _, contact_id = await contact(house)
    named: dict[str, Any] = {
        "merchant_id": house.merchant.merchant_id,
        "communication_id": contact_id,
    } | changes
    address = build_return_address(house.resources.keys, "reply", "returns.example.com", **named)
    return await receive_mail(
        house.resources, MAIL_READER, Envelope("post", sender, address, content)
    )


async def test_a_reply_is_stored_and_pauses_the_claim_for_three_business_days(house: House) -> None:
    assert await answer(house) is ReplyOutcome.NEW
    [reply] = await house.rows(_REPLIES)
    assert (reply["text"], reply["is_automatic"], reply["read_at"]) == (
        "I paid last week.", False, None,
    )  # fmt: skip
    [hold] = await house.rows(_HOLDS)
    # From Monday to the end of Thursday in Berlin.
    until = datetime(2026, 3, 5, 23, 0, tzinfo=UTC)
    assert tuple(hold) == ("PAUSE", until, None, "REPLY", "SYSTEM")
    claim_id, _ = await contact(house)
    async with house.work() as work:
        life = await list_timeline(work, claim_id)
    [told] = [each for each in life if each.kind == "REPLY"]
    assert (told.word, told.text) == ("UNSEEN", "I paid last week.")


async def test_a_reply_is_stored_sealed_as_it_was_received(house: House) -> None:
    await answer(house)
    [reply] = await house.rows(_REPLIES)
    assert b"last week" not in reply["raw_sealed"]
    opened = open_reply(
        house.resources.keys, house.merchant.merchant_id, reply["reply_id"], reply["raw_sealed"]
    )
    assert opened == _MAIL


async def test_a_reply_is_reencrypted_with_a_newer_key(house: House) -> None:
    await answer(house)
    await reseal_table(with_versions(house.resources, 2, 1), "debtor_replies")
    [reply] = await house.rows(_REPLIES)
    newer = with_versions(house.resources, 2).keys
    ids = house.merchant.merchant_id, reply["reply_id"]
    assert open_reply(newer, *ids, reply["raw_sealed"]) == _MAIL


async def test_a_reply_received_twice_is_stored_once(house: House) -> None:
    assert await answer(house) is ReplyOutcome.NEW
    assert await answer(house) is ReplyOutcome.KNOWN
    assert len(await house.rows(_REPLIES)) == 1
    assert len(await house.rows(_HOLDS)) == 1


@pytest.mark.parametrize("mark", ["Auto-Submitted", "Precedence"])
async def test_an_automatic_reply_opens_no_hold(house: House, mark: str) -> None:
    value = {"Auto-Submitted": "auto-replied", "Precedence": "bulk"}[mark]
    mail = a_plain_mail("erika@customer.example", "Away", "I am away.", **{mark: value})
    assert await answer(house, mail) is ReplyOutcome.NEW
    assert await house.rows(_HOLDS) == []
    [reply] = await house.rows(_REPLIES)
    assert reply["is_automatic"]
    async with house.work(ERP) as work:
        assert await list_unread_replies(work) == []


async def test_a_reply_with_a_null_sender_opens_no_hold(house: House) -> None:
    assert await answer(house, sender="") is ReplyOutcome.NEW
    assert await house.rows(_HOLDS) == []


async def test_reading_a_reply_lifts_only_its_hold(house: House) -> None:
    await answer(house)
    claim_id, _ = await contact(house)
    async with house.work() as work:
        await mark_replies_read(work, claim_id)
        await mark_replies_read(work, claim_id)
    [hold] = await house.rows(_HOLDS)
    assert hold["lifted_at"] == house.clock.now()
    [reply] = await house.rows(_REPLIES)
    assert (reply["read_at"], reply["read_by"]) == (house.clock.now(), "erp")
    audit = await house.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action LIKE 'reply.%' ORDER BY 1"
    )
    assert [row["action"] for row in audit] == ["reply.see", "reply.take"]


async def test_reading_a_reply_does_not_lift_a_pause_by_the_merchant(house: House) -> None:
    claim_id, _ = await contact(house)
    async with house.work() as work:
        await pause_claim(work, claim_id, reason="call")
    await answer(house)
    async with house.work() as work:
        await mark_replies_read(work, claim_id)
    holds = {row["reason"]: row["lifted_at"] for row in await house.rows(_HOLDS)}
    assert holds == {"call": None, "REPLY": house.clock.now()}


async def test_the_pause_of_a_reply_ends_automatically(house: House) -> None:
    await answer(house)
    await house.run_until(house.clock.now() + timedelta(days=4))
    [hold] = await house.rows(_HOLDS)
    assert hold["lifted_at"] is not None


async def test_a_reply_to_an_ended_claim_opens_no_hold(house: House) -> None:
    claim_id, _ = await contact(house)
    async with house.work() as work:
        await withdraw_claim(work, claim_id)
    assert await answer(house) is ReplyOutcome.NEW
    assert await house.rows(_HOLDS) == []


async def test_a_reply_without_a_known_message_is_not_stored(house: House) -> None:
    assert await answer(house, communication_id=UUID(int=7)) is ReplyOutcome.GONE
    assert await answer(house, merchant_id=2_000_000) is ReplyOutcome.GONE
    assert await house.rows(_REPLIES) == []


async def test_the_number_of_stored_replies_is_limited(house: House) -> None:
    mails = [_MAIL.replace(b"plain-1", b"plain-%d" % n) for n in range(21)]
    taken = [await answer(house, mail) for mail in mails]
    assert taken == [ReplyOutcome.NEW] * 20 + [ReplyOutcome.TOO_MANY]


def test_three_business_days_do_not_include_the_weekend() -> None:
    friday = datetime(2026, 3, 6, 12, tzinfo=UTC)
    assert compute_hold_end(friday, "Europe/Berlin").astimezone(UTC) == datetime(
        2026, 3, 11, 23, tzinfo=UTC
    )


async def test_a_reply_is_listed_as_unread_until_it_is_read(
    house: House, clock: MovableClock
) -> None:
    await answer(house)
    came_at = clock.now()
    clock.advance(timedelta(hours=1))
    number = {"Message-ID": "<another@customer.example>"}
    again = a_plain_mail("erika@customer.example", "Re: Reminder", "x" * 500, **number)
    await answer(house, again)
    async with house.work(ERP) as work:
        [first, second] = await list_unread_replies(work)
        waiting = (await list_attention_items(work))[AttentionKind.UNSEEN_REPLIES]
    assert (first.received_at, first.subject, first.excerpt) == (
        came_at, "Re: Reminder", "I paid last week.",
    )  # fmt: skip
    assert len(second.excerpt) == 200
    assert waiting == AttentionItem(Count(2, is_more=False), came_at)
    async with house.work(ERP) as work:
        await mark_replies_read(work, first.claim_id)
        assert await list_unread_replies(work) == []
        assert (await list_attention_items(work))[AttentionKind.UNSEEN_REPLIES].count.number == 0
