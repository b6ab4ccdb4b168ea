"""What the claim's page shows while a request waits for its answer, and after it was refused."""

import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest

from dunwell.cases.modalities.limits import DeferralTerms, Terms
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import Browser, LandingHarness, a_landing
from tests.support.landing_plans import (
    LATER_CHECK,
    OFFERING,
    PLAN_CHECK,
    ask,
    enter,
    modalities,
    read_text,
    reject,
)
from tests.support.modalities import DEFERMENT, OFFERED, PLAN, Arrangement
from tests.support.notice_sending import send_due_notices

DAY = timedelta(days=1)
REASON = "Drei Raten sind uns zu lang."


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """On Monday, 2 March 2026, a debtor has entered a letter's code."""
    async with a_landing(resources, clock, configuration=OFFERING) as landing:
        await enter(landing)
        yield landing


async def load_claim_page(
    landing: LandingHarness, browser: Browser | None = None, language: str = "de"
) -> str:
    """Return the claim's page."""
    page = await (browser or landing.browser).get(f"/claim?lang={language}")
    assert page.status_code == 200
    return page.text


def find_refusal_notice(page: str) -> str:
    """Return the notice about a refusal in one line, or ""."""
    _, _, behind = page.partition('id="refusal">')
    return read_text(f"<main>{behind.partition('</div>')[0]}</main>")


async def refuse(landing: LandingHarness, terms: Terms, reason: str | None = None) -> None:
    arrangement = Arrangement(landing.payments.harness, landing.claim_id)
    asked = await arrangement.ask(terms)
    await arrangement.reject(asked.modality_id, reason)


async def reopen_claim(landing: LandingHarness) -> Browser:
    """Open the claim again after the session has ended."""
    browser = landing.visitor()
    await browser.type_code(await landing.give_code())
    return browser


async def test_a_refused_plan_is_shown_first_with_its_reason_and_an_alternative(
    landing: LandingHarness,
) -> None:
    await ask(landing)
    await reject(landing, REASON)
    page = await load_claim_page(landing)
    assert find_refusal_notice(page) == (
        "Wir können Ihrer Anfrage zur Ratenzahlung nicht zustimmen."
        " Das haben wir am 2. März 2026 entschieden."
        " Nordwind nennt diesen Grund: Drei Raten sind uns zu lang."
        " Stattdessen können Sie Folgendes anfragen: 2 Monatsraten von bis zu 51,20 € ,"
        " die erste am 16. März 2026."
        " Diese Ratenzahlung ansehen"
    )
    assert page.index('id="refusal"') < page.index('class="amount"')
    english = find_refusal_notice(await load_claim_page(landing, language="en"))
    assert english == (
        "We cannot agree to your request to pay in instalments. We decided this on 2 March 2026."
        " The reason that Nordwind gives: Drei Raten sind uns zu lang."
        " You can ask for this instead: 2 monthly payments of up to €51.20 ,"
        " the first on 16 March 2026. View this payment plan"
    )


async def test_a_refused_deferral_is_shown_with_an_earlier_date(landing: LandingHarness) -> None:
    await ask(landing, LATER_CHECK)
    await reject(landing)
    assert find_refusal_notice(await load_claim_page(landing, language="en")) == (
        "We cannot agree to your request for more time. We decided this on 2 March 2026."
        " You can ask for this instead: pay all of it by 16 March 2026. View this date"
    )
    assert find_refusal_notice(await load_claim_page(landing)) == (
        "Mehr Zeit können wir Ihnen leider nicht geben."
        " Das haben wir am 2. März 2026 entschieden."
        " Stattdessen können Sie Folgendes anfragen: alles bis zum 16. März 2026 zahlen."
        " Diesen Termin ansehen"
    )


@pytest.mark.parametrize("check", [PLAN_CHECK, LATER_CHECK])
async def test_the_alternative_can_be_requested_unchanged(
    landing: LandingHarness, check: str
) -> None:
    await ask(landing, check)
    await reject(landing)
    page = await landing.browser.get("/claim")
    notice = page.text.partition('id="refusal">')[2].partition("</div>")[0]
    [address] = re.findall('href="([^"]*)"', notice)
    address = html.unescape(address)
    await landing.browser.get(address)
    await landing.browser.submit(address.partition("?")[0])
    assert [each["state"] for each in await modalities(landing)] == ["REJECTED", "REQUESTED"]
    assert find_refusal_notice(await load_claim_page(landing)) == ""


async def test_a_link_alone_shows_only_that_the_request_was_refused(
    landing: LandingHarness,
) -> None:
    await refuse(landing, PLAN, REASON)
    visitor = landing.visitor()
    await visitor.open(await landing.give_link())
    page = await load_claim_page(landing, visitor)
    assert find_refusal_notice(page) == (
        "Wir können Ihrer Anfrage nicht zustimmen. Das haben wir am 2. März 2026 entschieden."
        " Grund und Möglichkeiten ansehen"
    )
    assert REASON not in page
    assert "51,20" not in page


async def test_an_offer_that_was_refused_is_not_repeated(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await refuse(landing, PLAN)
    await refuse(landing, msgspec.structs.replace(PLAN, count=2))
    text = find_refusal_notice(await load_claim_page(landing))
    assert "alles bis zum 16. März 2026 zahlen" in text
    assert "Monatsraten" not in text


async def test_no_alternative_is_offered_if_no_request_is_allowed(landing: LandingHarness) -> None:
    for terms in (DEFERMENT, DeferralTerms(PLAN.first_on), msgspec.structs.replace(PLAN, count=6)):
        await refuse(landing, terms)
    text = find_refusal_notice(await load_claim_page(landing, language="en"))
    assert "You can ask for this instead" not in text
    assert "Please tell Nordwind what you can pay, and when." in text


async def test_a_refusal_is_shown_for_thirty_days_unless_the_claim_is_paid(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await refuse(landing, PLAN)
    clock.advance(30 * DAY - timedelta(seconds=1))
    browser = await reopen_claim(landing)
    # The first date has passed, so the new plan starts later.
    assert "die erste am 15. April 2026" in find_refusal_notice(
        await load_claim_page(landing, browser)
    )
    clock.advance(timedelta(seconds=1))
    assert find_refusal_notice(await load_claim_page(landing, browser)) == ""


async def test_a_paid_claim_shows_no_refusal(landing: LandingHarness) -> None:
    await refuse(landing, PLAN)
    await landing.payments.harness.pay(landing.claim_id, 10240)
    assert find_refusal_notice(await load_claim_page(landing)) == ""


async def test_a_plan_that_broke_after_a_refusal_is_shown_instead(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await refuse(landing, msgspec.structs.replace(PLAN, count=6))
    arrangement = Arrangement(landing.payments.harness, landing.claim_id)
    await arrangement.agree(PLAN)
    await arrangement.sweep_at(clock.now() + 23 * DAY)
    await send_due_notices(landing.payments.harness)
    page = await load_claim_page(landing, await reopen_claim(landing))
    assert find_refusal_notice(page) == ""
    assert 'id="ended-plan"' in page


@pytest.mark.parametrize(
    ("days", "says"),
    [
        (3, "Wir prüfen Ihre Anfrage und antworten Ihnen bis zum 5. März 2026."),
        (4, "Unsere Antwort auf Ihre Anfrage verspätet sich. Das tut uns leid."),
    ],
)
async def test_a_request_shows_its_answer_date_and_later_the_delay(
    landing: LandingHarness, clock: MovableClock, days: int, says: str
) -> None:
    asked = await Arrangement(landing.payments.harness, landing.claim_id).ask(PLAN)
    clock.advance(days * DAY)
    browser = await reopen_claim(landing)
    assert says in read_text(await load_claim_page(landing, browser))
    page = read_text((await browser.get(f"/claim/modality/{asked.modality_id}")).text)
    expected = "Sie erhalten eine Antwort bis" if days == 3 else "Wir wollten antworten bis"
    assert f"{expected} 5. März 2026" in page
    assert ("verspätet sich" in page) is (days == 4)


async def test_the_merchant_sets_the_business_days_for_an_answer(
    resources: Resources, clock: MovableClock
) -> None:
    within = msgspec.structs.replace(OFFERED, answer_within_days=5)
    configuration = msgspec.structs.replace(OFFERING, modalities=within)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await enter(landing)
        await ask(landing)
        assert "bis zum 9. März 2026" in read_text(await load_claim_page(landing))


async def test_an_ended_request_shows_no_answer_date(landing: LandingHarness) -> None:
    """A deferral until tomorrow is meaningless if it is not answered by then."""
    tomorrow = DeferralTerms(landing.payments.now.date() + DAY)
    await Arrangement(landing.payments.harness, landing.claim_id).ask(tomorrow)
    assert "antworten Ihnen bis zum 3. März 2026." in read_text(await load_claim_page(landing))


async def test_the_confirmation_of_a_request_shows_its_answer_date(
    landing: LandingHarness,
) -> None:
    await ask(landing)
    await send_due_notices(landing.payments.harness)
    texts = await landing.payments.harness.rows(
        "SELECT body_text FROM debtor_notices WHERE merchant_id = $1 AND kind = 'CONFIRMATION'"
    )
    assert [
        "Wir prüfen Ihre Anfrage und antworten Ihnen bis zum 5. März 2026." in each["body_text"]
        for each in texts
    ] == [True]
