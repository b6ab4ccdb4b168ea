"""The claim page with plans, deferrals, disputes, and several of them at once."""

import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.cases.modalities.limits import Terms
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.documents import read_text
from tests.support.landing import LandingHarness, a_landing
from tests.support.modalities import DEFERMENT, OFFERED, PLAN, Arrangement
from tests.support.payments import PAYING

_IN_PARTS = msgspec.structs.replace(
    PAYING.payment, partial=PartialPaymentSettings(min_amount="500")
)
CONFIGURATION = msgspec.structs.replace(PAYING, modalities=OFFERED, payment=_IN_PARTS)


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_landing(resources, clock, configuration=CONFIGURATION) as landing:
        yield landing


def arrange(landing: LandingHarness) -> Arrangement:
    return Arrangement(landing.payments.harness, landing.claim_id)


async def enter(landing: LandingHarness) -> Any:
    return await landing.browser.type_code(await landing.give_code())


def list_primary(page: Any) -> list[str]:
    """List the targets of the primary action. A page has at most one."""
    return re.findall(r'class="primary" href="([^"]*)"', page.text)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (PLAN, "Sie haben eine Ratenzahlung angefragt."),
        (DEFERMENT, "Sie haben um Zeit bis zum 31. März 2026 gebeten."),
    ],
)
async def test_a_claim_with_a_request_can_still_be_paid(
    landing: LandingHarness, terms: Terms, expected: str
) -> None:
    modality = await arrange(landing).ask(terms)

    page = await enter(landing)

    text = read_text(page.text)
    assert f"{expected} Anfrage ansehen oder zurückziehen Wir prüfen das" in text
    assert f'href="/claim/modality/{modality.modality_id}">Anfrage ansehen' in page.text
    assert list_primary(page) == ["/claim/pay"]
    assert "/claim/options" not in page.text


async def test_a_plan_shows_its_next_instalment_its_schedule_and_the_rest(
    landing: LandingHarness,
) -> None:
    modality = await arrange(landing).agree(PLAN)
    await landing.payments.harness.pay(landing.claim_id, 4000)

    page = await enter(landing)

    text = read_text(page.text)
    assert "Ihre nächste Rate: 28,27 € bis zum 16. April 2026." in text
    assert "16. März 2026 bezahlt 34,14 €" in text
    assert "16. April 2026 5,86 € bezahlt 34,13 €" in text
    assert "16. Mai 2026 34,13 €" in text
    assert list_primary(page) == ["/claim/pay/method?cents=2827"]
    assert 'class="secondary" href="/claim/pay">' in page.text
    assert f'href="/claim/modality/{modality.modality_id}">Ratenzahlung ansehen' in page.text


async def test_the_offered_instalment_can_be_paid(landing: LandingHarness) -> None:
    await arrange(landing).agree(PLAN)
    [path] = list_primary(await enter(landing))

    page = await landing.browser.get(path)

    assert page.status_code == 200
    assert '<p class="amount"><bdi class="money">34,14\u00a0€</bdi></p>' in page.text


async def test_the_last_instalment_is_the_whole_outstanding_amount(
    resources: Resources, clock: MovableClock
) -> None:
    whole = msgspec.structs.replace(PAYING, modalities=OFFERED)
    async with a_landing(resources, clock, configuration=whole) as landing:
        await arrange(landing).agree(PLAN)
        first = list_primary(await enter(landing))
        await landing.payments.harness.pay(landing.claim_id, 7000)
        last = list_primary(await landing.browser.get("/claim"))

    assert (first, last) == (["/claim/pay/method?cents=3414"], ["/claim/pay"])


async def test_a_deferred_claim_shows_the_end_of_the_deferral(landing: LandingHarness) -> None:
    await arrange(landing).agree(DEFERMENT)

    page = await enter(landing)

    text = read_text(page.text)
    assert "Sie haben Zeit bis zum 31. März 2026. Vereinbarung ansehen" in text
    assert "Zahlen können Sie trotzdem." in text
    assert list_primary(page) == ["/claim/pay"]


async def test_a_link_alone_shows_no_agreement(landing: LandingHarness) -> None:
    modality = await arrange(landing).agree(PLAN)

    page = await landing.open()

    text = read_text(page.text)
    assert "Wir haben vereinbart, wie Sie zahlen." in text
    assert "34,14" not in text
    assert "3414" not in page.text
    assert str(modality.modality_id) not in page.text
    assert 'href="/claim/verify?for=claim"' in page.text


async def test_a_disputed_claim_shows_the_case_and_the_undisputed_part(
    landing: LandingHarness,
) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await landing.payments.harness.rows(
        "UPDATE disputes SET answers = $2 WHERE merchant_id = $1", {"amount": "6000"}
    )

    page = await enter(landing)

    assert "Sie haben uns am 2. März 2026 einen Einwand geschickt." in read_text(page.text)
    assert re.search(r'dir="ltr"[^>]*>[0-9A-Z]{4}-[0-9A-Z]{4}</span>', page.text)
    assert f'href="/claim/disputes/{opened.dispute_id}"' in page.text
    assert 'href="/claim/pay/method?cents=6000"' in page.text
    assert list_primary(page) == ["/claim/pay"]


async def test_several_topics_are_shown_with_one_primary_action(landing: LandingHarness) -> None:
    await arrange(landing).agree(PLAN)
    await dispute(landing.payments.harness, landing.claim_id, "GOODS_RETURNED")
    await dispute(landing.payments.harness, landing.claim_id, "OTHER", "Etwas anderes.")

    page = await enter(landing)

    text = read_text(page.text)
    assert text.count("Sie haben uns am 2. März 2026 einen Einwand geschickt.") == 2
    assert text.count("Wir prüfen das und schicken so lange keine Mahnungen.") == 1
    assert "Ihre nächste Rate: 34,14 € bis zum 16. März 2026." in text
    assert len(list_primary(page)) == 1


async def test_a_paid_claim_keeps_its_documents(landing: LandingHarness) -> None:
    await arrange(landing).ask(PLAN)
    await landing.payments.harness.pay(landing.claim_id, 10240)

    page = await enter(landing)

    assert "Nichts mehr zu zahlen" in page.text
    assert list_primary(page) == []
    assert 'class="notice"' not in page.text
    for path in ("/claim/options", "/claim/dispute", 'id="advice"'):
        assert path not in page.text


async def test_a_code_sent_to_the_address_on_file_shows_the_items(landing: LandingHarness) -> None:
    await enter(landing)
    await landing.payments.harness.rows(
        "UPDATE debtor_sessions SET level = 'CODE' WHERE merchant_id = $1"
    )

    assert "<table" in (await landing.browser.get("/claim")).text
