"""Payment plans and deferrals: what is offered, checked, requested and shown on the pages."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ModalitySettings, PlanSettings
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import OWN_FORM, LandingHarness, a_landing, read_hidden
from tests.support.landing_plans import (
    AGREEING,
    LATER_CHECK,
    OFFERING,
    PLAN_CHECK,
    ask,
    enter,
    list_event_states,
    modalities,
    read_text,
)


@pytest.fixture
async def landing_with_offers(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    """A merchant that answers requests itself, and a debtor who has entered a letter's code."""
    async with a_landing(resources, clock, configuration=OFFERING) as landing:
        await enter(landing)
        yield landing


@pytest.fixture
async def landing_with_approval(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    """The same with a merchant that approves requests within its bounds automatically."""
    async with a_landing(resources, clock, configuration=AGREEING) as landing:
        await enter(landing)
        yield landing


async def test_offers_show_exact_amounts_dates_and_costs(
    landing_with_offers: LandingHarness,
) -> None:
    text = read_text((await landing_with_offers.browser.get("/claim/plan?lang=en")).text)

    assert "3 instalments: €34.14 , then 2 x €34.13 The last payment is on 16 May 2026." in text
    assert "2 instalments of €51.20 The last payment is on 16 April 2026." in text
    assert "Pay €102.40 in instalments" in text
    assert "Once a month from 16 March 2026, at no extra cost." in text


async def test_the_options_page_links_only_to_available_offers(
    resources: Resources, clock: MovableClock
) -> None:
    only_plans = msgspec.structs.replace(
        OFFERING, modalities=ModalitySettings(PlanSettings(counts=(2,)))
    )
    async with a_landing(resources, clock, configuration=only_plans) as landing:
        await enter(landing)
        page = (await landing.browser.get("/claim/options")).text
        later = await landing.browser.get("/claim/later")

    assert 'href="/claim/plan"' in page
    assert 'href="/claim/later"' not in page
    assert later.headers["Location"] == "/claim/options"


async def test_without_offers_a_phone_number_is_shown(landing: LandingHarness) -> None:
    await enter(landing)

    page = await landing.browser.get("/claim/options?lang=en")

    assert "Together you can look for a solution." in page.text
    assert page.text.count("+49 40 1234560") == 2
    assert "/claim/plan" not in page.text


async def test_the_schedule_is_shown_without_a_script(landing_with_offers: LandingHarness) -> None:
    page = await landing_with_offers.browser.get("/claim/plan/check?offer=6&lang=en")

    text = read_text(page.text)
    assert "16 March 2026 €17.07" in text
    assert "16 August 2026 €17.06 Total €102.40" in text
    assert await modalities(landing_with_offers) == []


async def test_the_script_shows_the_schedules_computed_by_the_server(
    landing_with_offers: LandingHarness,
) -> None:
    page = await landing_with_offers.browser.get("/claim/plan?lang=en")

    text = page.text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MULTIPLICATION SIGN}", "x")
    assert 'data-plan-days="16 March 2026;16 April 2026"' in text
    assert 'data-plan-first="2"><bdi class="money">€51.20<' in text
    assert 'data-plan-first="4">4 x <bdi class="money">€17.07<' in text
    assert 'data-plan-last="2">2 x <bdi class="money">€17.06<' in text


async def test_viewing_pages_requests_nothing(landing_with_offers: LandingHarness) -> None:
    for path in ("/claim/options", "/claim/plan", PLAN_CHECK, "/claim/later", LATER_CHECK):
        assert (await landing_with_offers.browser.get(path)).status_code == 200

    assert await modalities(landing_with_offers) == []


async def test_a_requested_plan_waits_for_its_answer(landing_with_offers: LandingHarness) -> None:
    page = await ask(landing_with_offers)

    [plan] = await modalities(landing_with_offers)
    assert (plan["type"], plan["state"], plan["amount_cents"]) == (
        "PAYMENT_PLAN", "REQUESTED", 10240,
    )  # fmt: skip
    assert str(page.url).endswith(f"/claim/modality/{plan['modality_id']}")
    assert "Sie haben eine Ratenzahlung angefragt" in page.text
    assert "Sie erhalten eine Antwort bis 5. März 2026" in read_text(page.text)
    assert await list_event_states(landing_with_offers) == ["REQUESTED"]


async def test_a_plan_within_the_bounds_is_approved_automatically(
    landing_with_approval: LandingHarness,
) -> None:
    await landing_with_approval.browser.get(PLAN_CHECK)
    assert landing_with_approval.browser.page is not None
    assert (
        "Mit diesem Knopf vereinbaren Sie die Ratenzahlung."
        in landing_with_approval.browser.page.text
    )

    page = await ask(landing_with_approval)

    assert "Ihre Ratenzahlung ist vereinbart" in page.text
    assert await list_event_states(landing_with_approval) == ["REQUESTED", "APPROVED"]


async def test_a_deferral_can_be_requested(landing_with_approval: LandingHarness) -> None:
    page = await ask(landing_with_approval, LATER_CHECK)

    [deferment] = await modalities(landing_with_approval)
    assert (deferment["type"], deferment["state"]) == ("PAYMENT_DEFEREMENT", "APPROVED")
    assert "Sie haben Zeit bis zum 31. März 2026" in read_text(page.text)


@pytest.mark.parametrize("path", [PLAN_CHECK, LATER_CHECK])
async def test_a_double_click_makes_one_request(
    landing_with_offers: LandingHarness, path: str
) -> None:
    page, address = await landing_with_offers.browser.get(path), path.partition("?")[0]
    fields = read_hidden(page.text, address)

    answers = await asyncio.gather(
        *(
            landing_with_offers.browser.http.post(address, data=fields, headers=OWN_FORM)
            for _ in range(8)
        )
    )

    [modality] = await modalities(landing_with_offers)
    assert {answer.status_code for answer in answers} == {303}
    expected = f"/claim/modality/{modality['modality_id']}"
    assert {answer.headers["Location"] for answer in answers} == {expected}
    assert await list_event_states(landing_with_offers) == ["REQUESTED"]


async def test_a_second_request_shows_the_existing_one(landing_with_offers: LandingHarness) -> None:
    page = await landing_with_offers.browser.get(LATER_CHECK)
    fields = read_hidden(page.text, "/claim/later/check")
    await ask(landing_with_offers)

    answer = await landing_with_offers.browser.post("/claim/later/check", **fields)
    shown = await landing_with_offers.browser.get(answer.headers["Location"])

    assert "darum wurde die neue nicht gesendet" in shown.text
    assert [each["type"] for each in await modalities(landing_with_offers)] == ["PAYMENT_PLAN"]


@pytest.mark.parametrize("shown", ["1", "10241", "-10240", "10240.0", "", "9" * 20])
async def test_an_amount_changed_in_the_form_requests_nothing(
    landing_with_offers: LandingHarness, shown: str
) -> None:
    await landing_with_offers.browser.get(PLAN_CHECK)

    page = await landing_with_offers.browser.submit("/claim/plan/check", shown=shown)

    assert page.status_code == 200
    assert "Es wurde keine Anfrage gesendet." in page.text
    assert await modalities(landing_with_offers) == []


async def test_after_a_payment_the_plan_is_shown_for_the_rest(
    landing_with_offers: LandingHarness,
) -> None:
    await landing_with_offers.browser.get(PLAN_CHECK)
    await landing_with_offers.payments.harness.pay(landing_with_offers.claim_id, 1240)

    page = await landing_with_offers.browser.submit("/claim/plan/check")

    assert "Der Betrag hat sich geändert" in page.text
    assert "16. März 2026 30,00 € 16. April 2026 30,00 €" in read_text(page.text)
    assert await modalities(landing_with_offers) == []
    again = await landing_with_offers.browser.submit("/claim/plan/check")
    assert "Sie haben eine Ratenzahlung angefragt" in again.text
    assert [each["amount_cents"] for each in await modalities(landing_with_offers)] == [9000]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"count": "4"}, 200),
        ({"count": "36"}, 200),
        ({"count": "1"}, 200),
        ({"count": "-3"}, 200),
        ({"first": "2026-04-02"}, 200),
        ({"first": "2026-03-01"}, 200),
        ({"first": "<b>"}, 200),
    ],
)
async def test_terms_changed_in_the_form_are_refused(
    landing_with_offers: LandingHarness, fields: dict[str, str], status: int
) -> None:
    await landing_with_offers.browser.get(PLAN_CHECK)

    page = await landing_with_offers.browser.submit("/claim/plan/check", **fields)

    assert page.status_code == status
    assert "hat sich etwas geändert" in page.text
    assert await modalities(landing_with_offers) == []


async def test_a_claim_paid_meanwhile_redirects_to_its_page(
    landing_with_offers: LandingHarness,
) -> None:
    await landing_with_offers.browser.get(PLAN_CHECK)
    await landing_with_offers.payments.harness.pay(landing_with_offers.claim_id, 10240)

    page = await landing_with_offers.browser.submit("/claim/plan/check")

    assert str(page.url).endswith("/claim")
    assert await modalities(landing_with_offers) == []


async def test_after_three_requests_a_phone_number_is_shown(
    landing_with_offers: LandingHarness,
) -> None:
    for _ in range(3):
        page = await ask(landing_with_offers)
        address = page.url.path
        await landing_with_offers.browser.get(f"{address}/withdraw")
        await landing_with_offers.browser.submit(f"{address}/withdraw")

    answer = await landing_with_offers.browser.get("/claim/plan")
    page = await landing_with_offers.browser.get(answer.headers["Location"])

    assert answer.headers["Location"] == "/claim/options"
    assert "Sie haben in den letzten 30 Tagen dreimal angefragt." in page.text
    assert len(await modalities(landing_with_offers)) == 3


async def test_the_field_shows_its_bounds(landing_with_offers: LandingHarness) -> None:
    path = "/claim/plan/check?offer=3&first_day=2&first_month=4&first_year=2026&lang=en"

    page = await landing_with_offers.browser.get(path)

    assert page.status_code == 422
    assert "<title>Error: " in page.text
    assert (
        '<a href="#first_day">Please choose a date from 2 March 2026 to 1 April 2026.'
        in page.text.replace("\N{NO-BREAK SPACE}", " ")
    )
    assert 'aria-invalid="true"' in page.text
    assert 'name="first_day" class="day" inputmode="numeric" maxlength="2" value="2"' in page.text


async def test_the_claims_last_day_limits_the_offers(
    resources: Resources, clock: MovableClock
) -> None:
    debtor = {"maxDeferralDate": "2026-04-20"}
    given = {"configuration": OFFERING, "debtor": debtor}
    async with a_landing(resources, clock, **given) as landing:
        await enter(landing)
        plans = await landing.browser.get("/claim/plan?lang=en")
        refused = await landing.browser.get("/claim/plan/check?offer=3&lang=en")

    assert "2 instalments of €51.20" in read_text(plans.text)
    assert 'value="3"' not in plans.text
    assert "Something has changed" in refused.text
