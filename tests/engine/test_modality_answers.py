"""A debtor is notified once that a request was received and once of its outcome, whether a user or
an automatic rule decided."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.modalities import AT_ONCE, DEFERMENT, Arrangement, an_arrangement

_NOTICES = """
SELECT kind, channel, recipient, language, subject, body_text, body_html
FROM debtor_notices
WHERE merchant_id = $1
ORDER BY notice_id
"""


@dataclass
class AnswerHarness:
    arrangement: Arrangement
    resources: Resources
    writer: NoticeWriter

    async def send_due(self) -> int:
        return await send_due_occasions(self.resources, self.writer)

    async def list_notices(self) -> list[Any]:
        return list(await self.arrangement.harness.rows(_NOTICES))


async def _an_answer_harness(
    resources: Resources, clock: MovableClock, **given: Any
) -> AnswerHarness:
    arrangement = await an_arrangement(resources, clock, **given)
    writer = NoticeWriter(load_languages(DEBTOR_CATALOGUES), resources.settings.public_url)
    return AnswerHarness(arrangement, resources, writer)


@pytest.fixture
async def answer_harness(resources: Resources, clock: MovableClock) -> AnswerHarness:
    return await _an_answer_harness(resources, clock)


async def test_a_request_is_confirmed_at_once_as_a_request(answer_harness: AnswerHarness) -> None:
    await answer_harness.arrangement.ask()

    assert [await answer_harness.send_due() for _ in range(2)] == [1, 0]
    [notice] = await answer_harness.list_notices()
    assert notice["subject"] == "Ihre Anfrage an Nordwind zur Ratenzahlung"


async def test_an_approval_by_the_merchant_is_confirmed_once(answer_harness: AnswerHarness) -> None:
    modality = await answer_harness.arrangement.ask()
    await answer_harness.send_due()
    for _ in range(2):
        await answer_harness.arrangement.approve(modality.modality_id)

    assert [await answer_harness.send_due() for _ in range(3)] == [1, 0, 0]
    _, notice = await answer_harness.list_notices()
    assert (notice["kind"], notice["channel"], notice["recipient"], notice["language"]) == (
        "CONFIRMATION", "EMAIL", "erika@example.org", "de",
    )  # fmt: skip
    assert notice["subject"] == "Ihre Ratenzahlung mit Nordwind"
    assert "16. April 2026" in notice["body_text"]


async def test_an_automatic_approval_is_confirmed(
    resources: Resources, clock: MovableClock
) -> None:
    answer_harness = await _an_answer_harness(resources, clock, configuration=AT_ONCE)
    await answer_harness.arrangement.ask(DEFERMENT)

    await answer_harness.send_due()

    [notice] = await answer_harness.list_notices()
    assert "31. März 2026" in notice["body_text"]


async def test_a_rejection_is_sent_with_its_reason(answer_harness: AnswerHarness) -> None:
    modality = await answer_harness.arrangement.ask()
    await answer_harness.arrangement.reject(
        modality.modality_id, "Zu lang. <b>Drei</b> [x](http://a)"
    )

    await answer_harness.send_due()

    [notice] = [
        each for each in await answer_harness.list_notices() if "Der Grund" in each["body_text"]
    ]
    assert "Der Grund: Zu lang. <b>Drei</b> [x](http://a)" in notice["body_text"]
    assert "&lt;b&gt;Drei&lt;/b&gt; [x](http://a)" in notice["body_html"]


async def test_the_message_is_in_the_language_of_the_claim(
    resources: Resources, clock: MovableClock
) -> None:
    answer_harness = await _an_answer_harness(resources, clock, debtor={"language": "en"})
    await answer_harness.arrangement.agree()

    await answer_harness.send_due()

    assert {each["subject"] for each in await answer_harness.list_notices()} == {
        "Your request to Nordwind for a payment plan",
        "Your payment plan with Nordwind",
    }


async def test_without_an_address_nothing_is_sent_or_waits(
    resources: Resources, clock: MovableClock
) -> None:
    answer_harness = await _an_answer_harness(resources, clock, debtor={"email": None})
    await answer_harness.arrangement.ask()

    assert [await answer_harness.send_due(), await answer_harness.send_due()] == [1, 0]
    assert await answer_harness.list_notices() == []


async def test_a_notification_that_cannot_be_rendered_is_not_retried(
    answer_harness: AnswerHarness, clock: MovableClock
) -> None:
    """Every message needs the merchant's legal name."""
    await answer_harness.arrangement.ask()
    await answer_harness.arrangement.harness.rows(
        "UPDATE merchants"
        " SET revision = revision + 1, configuration = configuration::jsonb - 'legal'"
        " WHERE merchant_id = $1"
    )

    counts = [await answer_harness.send_due()]
    clock.advance(timedelta(minutes=5))
    counts.append(await answer_harness.send_due())

    assert counts == [1, 0]
    assert await answer_harness.list_notices() == []
