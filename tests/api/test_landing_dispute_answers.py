"""The answer to a dispute on the claim's page, and what follows."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debtor_disputes import sign_in_with_letter_code
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, resolve, withdraw
from tests.support.landing import LandingHarness, a_landing
from tests.support.payments import PAYING

DAY = timedelta(days=1)
REST = "Until 9 March 2026, we will not write to you about this or add any fees."


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> Any:
    async with a_landing(resources, clock, configuration=PAYING) as landing:
        yield landing


async def _open_dispute(landing: LandingHarness) -> ClaimDispute:
    return await dispute(landing.payments.harness, landing.claim_id, "AMOUNT_WRONG", "ten too much")


async def _read(landing: LandingHarness, path: str = "/claim") -> str:
    return (await landing.browser.get(f"{path}?lang=en")).text.replace("\xa0", " ")


async def test_a_rejection_is_shown_above_the_amount_with_its_reason(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    opened = await _open_dispute(landing)
    await answer(landing.payments.harness, opened, REJECTED, message="The <voucher> had run out.")

    page = await _read(landing)

    answered = page.index("We responded to your dispute on 2 March 2026.")
    assert page.index("<h1") < answered < page.index("Still to pay")
    assert "We have checked it. The claim remains open." in page
    assert "The &lt;voucher&gt; had run out." in page
    assert REST in page
    assert f"/claim/disputes/{opened.dispute_id}" in page
    assert "We are checking it" not in page
    assert "has been disputed since" not in page
    assert REST in await _read(landing, f"/claim/disputes/{opened.dispute_id}")


async def test_no_date_is_shown_before_the_answer_is_sent(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    await resolve(landing.payments.harness, await _open_dispute(landing), REJECTED)

    page = await _read(landing)

    assert "For the next few days, we will not write to you" in page
    assert "Until March 9" not in page


async def test_a_link_alone_does_not_show_the_merchants_answer(landing: LandingHarness) -> None:
    await landing.open()
    await answer(
        landing.payments.harness, await _open_dispute(landing), REJECTED, message="A voucher."
    )

    page = await _read(landing)

    assert "The claim remains open." in page
    assert "A voucher." not in page


async def test_after_an_accepted_dispute_nothing_has_to_be_paid(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    await answer(landing.payments.harness, await _open_dispute(landing), ACCEPTED)

    page = await _read(landing)

    assert "You were right. You do not have to pay." in page
    assert "add any fees" not in page


async def test_a_newer_dispute_replaces_the_answer_on_the_page(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    await answer(landing.payments.harness, await _open_dispute(landing), REJECTED)
    second = await dispute(landing.payments.harness, landing.claim_id, "DEFECTIVE", "a hole")

    assert "We responded to your dispute" not in await _read(landing)

    await withdraw(landing.payments.harness, second)
    assert "We responded to your dispute" in await _read(landing)


async def test_the_answer_is_shown_for_thirty_days(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await answer(landing.payments.harness, await _open_dispute(landing), REJECTED)
    clock.advance(30 * DAY - timedelta(seconds=1))
    await sign_in_with_letter_code(landing)
    assert "We responded to your dispute" in await _read(landing)
    clock.advance(timedelta(seconds=1))
    assert "We responded to your dispute" not in await _read(landing)
