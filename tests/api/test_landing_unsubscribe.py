"""One-click unsubscribe of mail programs (RFC 8058): without a cookie or our form, any number of
times."""

from collections.abc import AsyncIterator
from uuid import UUID

import httpx
import pytest

from dunwell.contact.notices.notice import RecipientUnreachable
from dunwell.contact.notices.occasions.facts import CodeFacts, InstalmentDueFacts
from dunwell.contact.sending.references import build_reference
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness, ScriptedChannel, ScriptedDeliveryProvider
from tests.support.notices import a_notice_harness
from tests.support.one_claim import connect_one

_SUPPRESSED = """
SELECT channel, reason, actor_kind FROM suppressions WHERE merchant_id = $1
"""
_CONTACTS = "SELECT channel FROM communications WHERE merchant_id = $1 ORDER BY planned_at"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness_with_a_provider(resources, clock, ScriptedDeliveryProvider())
    await harness.create(mobileNumber="+4915112345678")
    await harness.run()
    return harness


@pytest.fixture
async def visitor(resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    async with connect_one(an_application(resources).app) as client:
        yield client


async def path(harness: Harness) -> str:
    provider = harness.delivery_providers["post"]
    assert isinstance(provider, ScriptedDeliveryProvider)
    [message] = provider.sent
    assert message.unsubscribe_url is not None
    return message.unsubscribe_url.removeprefix(harness.resources.settings.public_url)


async def test_one_click_suppresses_only_the_address_of_the_message(
    harness: Harness, visitor: httpx.AsyncClient
) -> None:
    for _ in range(2):
        answer = await visitor.post(
            await path(harness), content="List-Unsubscribe=One-Click",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )  # fmt: skip
        assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
    assert [tuple(row) for row in await harness.rows(_SUPPRESSED)] == [
        ("EMAIL", "DEBTOR", "DEBTOR")
    ]
    await harness.create("INV-2", mobileNumber="+4915112345678")
    await harness.run()
    assert sorted(row["channel"] for row in await harness.rows(_CONTACTS)) == ["EMAIL", "SMS"]


async def test_a_multipart_form_is_accepted_too(
    harness: Harness, visitor: httpx.AsyncClient
) -> None:
    answer = await visitor.post(
        await path(harness), files={"List-Unsubscribe": (None, "One-Click")}
    )
    assert answer.status_code == 200
    assert len(await harness.rows(_SUPPRESSED)) == 1


async def test_a_plan_reminder_can_be_unsubscribed_like_a_workflow_message(
    resources: Resources, clock: MovableClock, visitor: httpx.AsyncClient
) -> None:
    """Responses to the debtor's own actions contain no such link."""
    notice_harness = await a_notice_harness(resources, clock)
    channel = ScriptedChannel()
    for facts in (InstalmentDueFacts("INV-1001", "EUR", 3414, clock.now().date()), CodeFacts()):
        await notice_harness.request(facts)
        await notice_harness.run(channel)
    reminder, code = channel.sent
    assert code.unsubscribe_url is None
    assert reminder.unsubscribe_url is not None
    path = reminder.unsubscribe_url.removeprefix(resources.settings.public_url)
    answer = await visitor.post(path, content="List-Unsubscribe=One-Click")
    assert answer.status_code == 200
    suppressed = [tuple(row) for row in await notice_harness.harness.rows(_SUPPRESSED)]
    assert suppressed == [("EMAIL", "DEBTOR", "DEBTOR")]
    assert await notice_harness.ask(
        InstalmentDueFacts("INV-1001", "EUR", 1, clock.now().date())
    ) == RecipientUnreachable("SUPPRESSED")


async def test_a_get_request_changes_nothing(harness: Harness, visitor: httpx.AsyncClient) -> None:
    answer = await visitor.get(await path(harness))
    assert answer.status_code == 200
    assert 'method="post"' in answer.text
    assert await harness.rows(_SUPPRESSED) == []


async def test_a_forged_reference_is_a_dead_link(
    harness: Harness, visitor: httpx.AsyncClient
) -> None:
    keys, merchant_id = harness.resources.keys, harness.merchant.merchant_id
    right = (await path(harness)).removeprefix("/u/")
    turned = right[:-1] + ("a" if right[-1] != "a" else "b")
    foreign = build_reference(keys, merchant_id + 1_000_000, UUID(int=1))
    absent = build_reference(keys, merchant_id, UUID(int=1))
    for token in ("x", turned, right[:-1], foreign, absent):
        answer = await visitor.post(f"/u/{token}", content="List-Unsubscribe=One-Click")
        assert answer.status_code == 410, token
    assert await harness.rows(_SUPPRESSED) == []


async def test_a_message_whose_content_was_deleted_cannot_be_unsubscribed(
    harness: Harness, visitor: httpx.AsyncClient
) -> None:
    """The message may have been sent to an address that is no longer on file."""
    await harness.rows("DELETE FROM communication_contents WHERE merchant_id = $1 RETURNING 1")
    answer = await visitor.post(await path(harness), content="List-Unsubscribe=One-Click")
    assert answer.status_code == 410
    assert await harness.rows(_SUPPRESSED) == []
