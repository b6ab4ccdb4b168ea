"""The page on which the debtor of a payment plan gives a mandate at GoCardless."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.landing import LandingHarness, a_landing
from tests.support.landing_plans import AGREEING, ask, enter, modalities, read_text
from tests.support.provider_plans import ACCOUNT, open_gocardless

WITH_PROVIDER = msgspec.structs.replace(
    AGREEING,
    payment=msgspec.structs.replace(AGREEING.payment, direct_debit_provider=ACCOUNT),
)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def landing(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess
) -> AsyncIterator[LandingHarness]:
    """A merchant whose debtors give mandates at GoCardless, and a debtor with a letter's code."""
    fake.repair()
    application = an_application(resources)
    async with (
        open_gocardless(fake) as provider,
        a_landing(
            resources, clock, configuration=WITH_PROVIDER, application=application
        ) as landing,
    ):
        application.providers[ACCOUNT] = provider
        await enter(landing)
        yield landing


async def agree(landing: LandingHarness) -> str:
    """Agree to a plan, and return the address of its mandate."""
    await ask(landing)
    [plan] = await modalities(landing)
    return f"/claim/modality/{plan['modality_id']}/mandate"


async def list_mandates(landing: LandingHarness) -> list[Any]:
    return list(
        await landing.payments.harness.rows("SELECT * FROM mandates WHERE merchant_id = $1")
    )


async def redirect_to_checkout(
    landing: LandingHarness, path: str, fake: FakeProviderProcess
) -> str:
    """Press the button, and return the id of the checkout to which it leads."""
    await landing.browser.get(path)
    answer = await landing.browser.submit(path)
    assert answer.status_code == 303
    url = answer.headers["location"]
    assert url.startswith(f"{fake.origin}/pay/")
    checkout_id: str = url.rpartition("/pay/")[2].partition("?")[0]
    return checkout_id


async def test_the_page_leads_to_gocardless_and_shows_the_mandate_after_the_return(
    landing: LandingHarness, fake: FakeProviderProcess
) -> None:
    path = await agree(landing)
    plan = await landing.browser.get(path.removesuffix("/mandate"))
    assert f'href="{path}"' in plan.text
    text = read_text((await landing.browser.get(f"{path}?lang=en")).text)
    assert "GoCardless confirms the mandate by e-mail" in text
    assert "IBAN" not in text
    checkout_id = await redirect_to_checkout(landing, path, fake)
    waiting = read_text((await landing.browser.get(f"{path}?lang=en")).text)
    assert "GoCardless has not confirmed a mandate yet." in waiting
    assert await list_mandates(landing) == []
    fake.act(checkout_id, "give")
    given = read_text((await landing.browser.get(f"{path}?lang=en")).text)
    [mandate] = await list_mandates(landing)
    assert "Your direct debit mandate" in given
    assert f"Mandate reference {mandate['reference']}" in given
    assert "Creditor identifier" not in given
    assert (mandate["actor_kind"], mandate["provider"]) == ("DEBTOR", ACCOUNT)
    pdf = await landing.browser.get(f"{path}/pdf")
    assert pdf.content.startswith(b"%PDF")


async def test_pressing_the_button_again_redirects_to_the_same_checkout(
    landing: LandingHarness, fake: FakeProviderProcess
) -> None:
    path = await agree(landing)
    first = await redirect_to_checkout(landing, path, fake)
    assert await redirect_to_checkout(landing, path, fake) == first
    fake.act(first, "give")
    await landing.browser.get(path)
    answer = await landing.browser.get(path)
    assert answer.status_code == 200
    assert len(await list_mandates(landing)) == 1


async def test_an_unavailable_provider_gets_an_error_page_and_no_mandate_is_lost(
    landing: LandingHarness, fake: FakeProviderProcess
) -> None:
    path = await agree(landing)
    await landing.browser.get(path)
    fake.break_answers("DOWN")
    away = await landing.browser.submit(path)
    assert away.status_code == 503
    fake.repair()
    checkout_id = await redirect_to_checkout(landing, path, fake)
    fake.break_answers("DOWN")
    fake.act(checkout_id, "give")
    assert (await landing.browser.get(path)).status_code == 200
    assert await list_mandates(landing) == []
    fake.repair()
    await landing.browser.get(path)
    assert len(await list_mandates(landing)) == 1


async def test_a_mandate_of_a_provider_is_revoked_on_the_page(
    landing: LandingHarness, fake: FakeProviderProcess
) -> None:
    path = await agree(landing)
    fake.act(await redirect_to_checkout(landing, path, fake), "give")
    await landing.browser.get(path)
    await landing.browser.submit(f"{path}/revoke")
    assert [row["state"] for row in await list_mandates(landing)] == ["REVOKED"]
    rows = await landing.payments.harness.rows(
        "SELECT next_check_at IS NOT NULL AS due FROM provider_mandates WHERE merchant_id = $1"
    )
    assert rows[0]["due"]
