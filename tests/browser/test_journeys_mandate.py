"""The journey of a debtor who gives a plan's mandate at GoCardless, and revokes it."""

from collections.abc import Iterator

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from tests.browser.browser_page import Tabs
from tests.browser.debtor_journey import Setting, Way
from tests.browser.page_checks import follow, keep_screenshot
from tests.browser.site import CLAIM, OFFERING_ALL, RunningApplication
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake
from tests.support.provider_plans import ACCOUNT

_CONFIGURATION = msgspec.structs.replace(
    OFFERING_ALL,
    payment=msgspec.structs.replace(OFFERING_ALL.payment, direct_debit_provider=ACCOUNT),
)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def at_gocardless(
    tabs: Tabs, application: RunningApplication, fake: FakeProviderProcess
) -> Setting:
    """A merchant whose debtors give mandates at GoCardless."""
    account = {
        "adapter": "gocardless", "accessTokenFile": "token", "webhookSecretFile": "secret",
        "baseUrl": fake.origin, "networks": ["127.0.0.1"],
    }  # fmt: skip
    secrets = {
        f"paymentProviders/{ACCOUNT}/accessTokenFile": b"live_9k",
        f"paymentProviders/{ACCOUNT}/webhookSecretFile": WEBHOOK_SECRET.encode(),
    }
    installation = check_installation({"paymentProviders": {ACCOUNT: account}})
    await apply_installation(application.served.resources, installation, secrets)
    await application.served.installation.refresh()
    return Setting(tabs, await application.create_site(_CONFIGURATION, dict(CLAIM)))


@pytest.mark.parametrize(
    "way", [Way("de", 390, scripts=True), Way("en", 320, scripts=False)], ids=lambda way: way.name
)
async def test_a_debtor_gives_the_mandate_at_gocardless_and_revokes_it(
    at_gocardless: Setting, fake: FakeProviderProcess, way: Way
) -> None:
    async with at_gocardless.start_journey(way, "mandate-gocardless") as debtor:
        page = debtor.visit.page
        await debtor.type_code()
        await debtor.press("I cannot pay all of it now")
        await debtor.press("Pay in instalments")
        await page.get_by_role("radio").first.check()
        await debtor.press("Check the payment plan")
        await follow(page.locator("main form button").first)
        await debtor.press("Give or view the mandate")
        await debtor.expect_heading("Pay the instalments by direct debit")
        await keep_screenshot(page, f"mandate-gocardless-{way.name}")
        await follow(page.locator("main form button").first)
        # The provider's own page.
        await follow(page.get_by_role("button", name="give"))
        await debtor.expect_heading("Your direct debit mandate")
        await keep_screenshot(page, f"mandate-gocardless-given-{way.name}")
        debtor.visit.origins.discard(fake.origin)
        await debtor.press("Revoke the mandate")
        await debtor.press("Give or view the mandate")

        await debtor.expect_heading("Pay the instalments by direct debit")
