"""A debtor is notified once that a request was received and how it was answered, by whoever
answers."""

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
class Teller:
    arrangement: Arrangement
    resources: Resources
    writer: NoticeWriter

    async def tell(self) -> int:
        return await send_due_occasions(self.resources, self.writer)

    async def told(self) -> list[Any]:
        return list(await self.arrangement.harness.rows(_NOTICES))


async def _a_teller(resources: Resources, clock: MovableClock, **given: Any) -> Teller:
    arrangement = await an_arrangement(resources, clock, **given)
    writer = NoticeWriter(load_languages(DEBTOR_CATALOGUES), resources.settings.public_url)
    return Teller(arrangement, resources, writer)


@pytest.fixture
async def teller(resources: Resources, clock: MovableClock) -> Teller:
    return await _a_teller(resources, clock)


async def test_a_request_is_confirmed_at_once_as_a_request(teller: Teller) -> None:
    await teller.arrangement.ask()

    assert [await teller.tell() for _ in range(2)] == [1, 0]
    [notice] = await teller.told()
    assert notice["subject"] == "Ihre Anfrage an Nordwind zur Ratenzahlung"


async def test_an_approval_by_the_merchant_is_confirmed_once(teller: Teller) -> None:
    modality = await teller.arrangement.ask()
    await teller.tell()
    for _ in range(2):
        await teller.arrangement.approve(modality.modality_id)

    assert [await teller.tell() for _ in range(3)] == [1, 0, 0]
    _, notice = await teller.told()
    assert (notice["kind"], notice["channel"], notice["recipient"], notice["language"]) == (
        "CONFIRMATION", "EMAIL", "erika@example.org", "de",
    )  # fmt: skip
    assert notice["subject"] == "Ihre Ratenzahlung mit Nordwind"
    assert "16. April 2026" in notice["body_text"]


async def test_an_automatic_approval_is_confirmed(
    resources: Resources, clock: MovableClock
) -> None:
    teller = await _a_teller(resources, clock, configuration=AT_ONCE)
    await teller.arrangement.ask(DEFERMENT)

    await teller.tell()

    [notice] = await teller.told()
    assert "31. März 2026" in notice["body_text"]


async def test_a_rejection_is_sent_with_its_reason(teller: Teller) -> None:
    modality = await teller.arrangement.ask()
    await teller.arrangement.reject(modality.modality_id, "Zu lang. <b>Drei</b> [x](http://a)")

    await teller.tell()

    [notice] = [each for each in await teller.told() if "Der Grund" in each["body_text"]]
    assert "Der Grund: Zu lang. <b>Drei</b> [x](http://a)" in notice["body_text"]
    assert "&lt;b&gt;Drei&lt;/b&gt; [x](http://a)" in notice["body_html"]


async def test_the_message_is_in_the_language_of_the_claim(
    resources: Resources, clock: MovableClock
) -> None:
    teller = await _a_teller(resources, clock, debtor={"language": "en"})
    await teller.arrangement.agree()

    await teller.tell()

    assert {each["subject"] for each in await teller.told()} == {
        "Your request to Nordwind for a payment plan",
        "Your payment plan with Nordwind",
    }


async def test_without_an_address_nothing_is_sent_or_waits(
    resources: Resources, clock: MovableClock
) -> None:
    teller = await _a_teller(resources, clock, debtor={"email": None})
    await teller.arrangement.ask()

    assert [await teller.tell(), await teller.tell()] == [1, 0]
    assert await teller.told() == []


async def test_a_notification_that_cannot_be_rendered_is_not_retried(
    teller: Teller, clock: MovableClock
) -> None:
    """Every message needs the merchant's legal name."""
    await teller.arrangement.ask()
    await teller.arrangement.harness.rows(
        "UPDATE merchants"
        " SET revision = revision + 1, configuration = configuration::jsonb - 'legal'"
        " WHERE merchant_id = $1"
    )

    counts = [await teller.tell()]
    clock.advance(timedelta(minutes=5))
    counts.append(await teller.tell())

    assert counts == [1, 0]
    assert await teller.told() == []
