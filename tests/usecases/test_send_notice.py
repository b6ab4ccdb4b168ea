"""Requests for a notice: planned, refused by a limit, or for an unreachable address."""

import asyncio
from datetime import date, timedelta
from uuid import UUID

import pytest

from dunwell.contact.messages.claim_links import TOKEN_MASK, hash_token
from dunwell.contact.messages.suppression import SuppressionReason, suppress
from dunwell.contact.notices.notice import Addressee, NoticeLimitReached, RecipientUnreachable
from dunwell.contact.notices.notice_codes import (
    NOTICE_CODE_MASK,
    derive_notice_code,
    derive_notice_token,
)
from dunwell.contact.notices.notice_outcomes import sweep_notices
from dunwell.contact.notices.occasions.facts import (
    ChangeNoticeFacts,
    CodeFacts,
    DeferralFacts,
    LinkFacts,
)
from dunwell.contact.notices.send_notice import find_repeated_notice
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION
from tests.support.notices import ADDRESSES, NoticeHarness, a_notice_harness

_AUDIT = """
SELECT actor_kind, subject, details FROM audit_log
WHERE merchant_id = $1 AND action = 'notice.send'
"""
_LINKS = "SELECT * FROM debtor_links WHERE merchant_id = $1"


async def _suppress(
    notice_harness: NoticeHarness,
    address: str = "Erika@Example.org",
    reason: SuppressionReason = "DEBTOR",
) -> None:
    async with notice_harness.harness.work() as work:
        await suppress(work, notice_harness.harness.resources.keys, "EMAIL", address, reason)


def _deferment() -> DeferralFacts:
    return DeferralFacts("INV-1001", "EUR", 10240, date(2026, 4, 1), is_approved=True)


def _change(notice_harness: NoticeHarness) -> ChangeNoticeFacts:
    return ChangeNoticeFacts("EMAIL", notice_harness.harness.clock.now(), "e***@example.net")


async def test_a_code_is_stored_without_its_digits(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    [row] = await notice_harness.rows()
    code = derive_notice_code(resources.keys, notice_id)
    assert (row["notice_id"], row["state"], row["kind"]) == (notice_id, "PLANNED", "CODE")
    assert row["recipient"] == "erika@example.org"
    assert NOTICE_CODE_MASK in row["body_text"]
    assert NOTICE_CODE_MASK in row["body_html"]
    assert code not in str(dict(row))
    assert row["expires_at"] == clock.now() + timedelta(minutes=10)
    assert await notice_harness.harness.rows(_LINKS) == []


async def test_only_the_hash_of_a_link_is_stored(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request(LinkFacts())
    [row], [link] = await notice_harness.rows(), await notice_harness.harness.rows(_LINKS)
    token = derive_notice_token(resources.keys, notice_id)
    assert TOKEN_MASK in row["body_text"]
    assert token not in str(dict(row))
    assert link["token_hash"] == hash_token(token)
    assert (link["claim_id"], link["notice_id"]) == (notice_harness.claim_id, notice_id)
    assert link["communication_id"] is None


async def test_a_requested_notice_is_audited_without_the_address(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    notice_id = await notice_harness.request()
    [row] = await notice_harness.harness.rows(_AUDIT)
    assert (row["actor_kind"], row["subject"]) == ("DEBTOR", f"claim:{notice_harness.claim_id}")
    assert row["details"] == {"noticeId": str(notice_id), "kind": "CODE", "channel": "EMAIL"}


async def test_the_sixth_notice_of_a_kind_in_an_hour_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    first_at = clock.now()
    for _ in range(5):
        await notice_harness.request()
        clock.advance(timedelta(minutes=1))
    assert await notice_harness.ask() == NoticeLimitReached(first_at + timedelta(hours=1))
    assert len(await notice_harness.rows()) == 5
    await notice_harness.request(LinkFacts())
    clock.move_to(first_at + timedelta(hours=1))
    await notice_harness.request()


async def test_notices_of_another_claim_do_not_count(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    for _ in range(5):
        await notice_harness.request()
    [other] = await notice_harness.harness.create("INV-2")
    await NoticeHarness(notice_harness.harness, other, notice_harness.writer).request()


async def test_concurrent_requests_plan_at_most_five_notices(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    results = await asyncio.gather(*(notice_harness.ask() for _ in range(9)))
    assert (
        sorted(type(each).__name__ for each in results) == ["NoticeLimitReached"] * 4 + ["UUID"] * 5
    )
    assert len(await notice_harness.rows()) == 5


async def test_only_requested_notices_are_sent_to_a_suppressed_address(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await _suppress(notice_harness)
    assert await notice_harness.ask(_deferment()) == RecipientUnreachable("SUPPRESSED")
    assert await notice_harness.rows() == []
    assert isinstance(await notice_harness.ask(CodeFacts()), UUID)
    assert isinstance(await notice_harness.ask(LinkFacts()), UUID)


async def test_a_change_notice_is_sent_unless_the_address_bounced(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await _suppress(notice_harness)
    await notice_harness.request(_change(notice_harness))
    await notice_harness.run()
    assert await notice_harness.states() == [("ACCEPTED", None)]
    await _suppress(notice_harness, "erika@alt.example", "BOUNCE")
    refused = await notice_harness.ask(_change(notice_harness), recipient="erika@alt.example")
    assert refused == RecipientUnreachable("SUPPRESSED")


async def test_an_address_gets_ten_notices_an_hour_across_claims_and_merchants(
    resources: Resources, clock: MovableClock
) -> None:
    first_at = clock.now()
    one = await a_notice_harness(resources, clock)
    [claim_id] = await one.harness.create("INV-2")
    notice_harnesses = [one, NoticeHarness(one.harness, claim_id, one.writer)]
    notice_harnesses += [await a_notice_harness(resources, clock, key="other")]
    for notice_harness in (
        *notice_harnesses[:2],
        *notice_harnesses[:2],
        *notice_harnesses[:2],
        *notice_harnesses[:2],
    ):
        await notice_harness.request(recipient="Erika@example.org ")
    results = await asyncio.gather(*(notice_harnesses[number % 3].ask() for number in range(6)))
    assert results.count(NoticeLimitReached(first_at + timedelta(hours=1))) == 4
    assert isinstance(await one.ask(_deferment()), UUID)
    assert isinstance(await notice_harnesses[2].ask(recipient="uwe@example.org"), UUID)


async def test_no_notice_is_sent_by_a_channel_that_the_merchant_lacks(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock, configuration=CONFIGURATION)
    assert await notice_harness.ask(channel="SMS") == RecipientUnreachable("NO_CHANNEL")
    assert await notice_harness.rows() == []


async def test_an_unknown_claim_gets_no_notice(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    with pytest.raises(NotFound):
        await NoticeHarness(
            notice_harness.harness, notice_harness.claim_id + 1, notice_harness.writer
        ).ask()


async def test_a_repeated_request_within_ten_seconds_is_a_double_click(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    addressee = Addressee(notice_harness.claim_id, "EMAIL", ADDRESSES["EMAIL"], "de")
    notice = notice_harness.writer.write(notice_harness.harness.merchant, addressee, CodeFacts())
    asked, found = await notice_harness.request(), []
    for seconds in (9.999999, 0.000001):
        clock.advance(timedelta(seconds=seconds))
        async with notice_harness.harness.work() as work:
            found.append(await find_repeated_notice(work, notice))
    assert found == [asked, None]


async def test_address_and_content_are_deleted_seven_days_after_the_answer(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request()
    await notice_harness.run()
    await notice_harness.request()
    clock.advance(timedelta(days=7))
    assert await sweep_notices(resources) == 0
    clock.advance(timedelta(seconds=1))
    assert await sweep_notices(resources) == 1
    assert await sweep_notices(resources) == 0
    sent, waiting = await notice_harness.rows()
    emptied = [sent[name] for name in ("recipient", "recipient_digest", "subject")]
    emptied += [sent[name] for name in ("body_text", "body_html")]
    assert emptied == [None] * 5
    assert (sent["kind"], sent["state"]) == ("CODE", "ACCEPTED")
    assert waiting["recipient"] == "erika@example.org"
