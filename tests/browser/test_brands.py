"""The pages under other brands and in other writing directions."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser
from starlette.applications import Starlette
from starlette.middleware import Middleware

from dunwell.accounts.merchants.configuration import Brand, LandingPage, MerchantContact
from dunwell.interfaces.api.edge import Edge
from dunwell.interfaces.landing.application import build_landing_routes
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.browser.browser_page import a_visit
from tests.browser.page_checks import FITTING, follow, keep_screenshot, list_violations, measure
from tests.browser.site import CLAIM, CONFIGURATION, OFFERING_ALL, RunningApplication
from tests.support.api_server import a_server
from tests.support.landing import LandingHarness
from tests.support.merchants import CONFIGURATION as BY_TRANSFER
from tests.support.payments import a_payment_harness

_RENAME = "UPDATE merchants SET name = $2, revision = revision + 1 WHERE merchant_id = $1"
WITH_SUMS = [
    "/claim", "/claim/pay", "/claim/pay/method", "/claim/pay/transfer", "/claim/options",
    "/claim/plan", "/claim/plan/check?offer=12", "/claim/later", "/claim/help", "/claim/dispute",
]  # fmt: skip
_HEBREW = """
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\nLanguage: he\\n"

msgid "Your outstanding amount with %(name)s"
msgstr "הסכום הפתוח שלך אצל %(name)s"

msgid "Still to pay"
msgstr "נותר לתשלום"

msgid "Pay now"
msgstr "לתשלום עכשיו"

msgid "I cannot pay all of it now"
msgstr "איני יכול לשלם את הכול עכשיו"
"""


@pytest.mark.parametrize("color", ["#ffe600", "#7a1fa2", "#00857c", None])
async def test_every_brand_color_is_readable(
    chromium: Browser, application: RunningApplication, color: str | None
) -> None:
    configuration = msgspec.structs.replace(CONFIGURATION, brand=Brand(color=color))
    site = await application.create_site(configuration)
    page = await chromium.new_page(viewport={"width": 390, "height": 844})
    await page.goto(await site.link())
    async with page.expect_navigation():
        await page.locator("main button").click()

    found = await list_violations(page)
    await keep_screenshot(page, f"brand-{(color or 'none').lstrip('#')}")
    await page.close()

    assert found == []


async def test_without_a_provider_the_account_replaces_the_button(
    chromium: Browser, application: RunningApplication
) -> None:
    site = await application.create_site(BY_TRANSFER)
    page = await chromium.new_page(viewport={"width": 320, "height": 844})
    await page.goto(await site.link())
    async with page.expect_navigation():
        await page.locator("main button").click()

    measured, found = await measure(page), await list_violations(page)
    await keep_screenshot(page, "claim-by-transfer")
    await page.close()

    assert (measured, found) == (FITTING, [])


async def test_long_names_addresses_and_millions_fit(
    chromium: Browser, application: RunningApplication
) -> None:
    long = msgspec.structs.replace(
        OFFERING_ALL,
        brand=Brand(color="#0b5d57"),
        contact=MerchantContact(
            email="forderungsmanagement@stadtwerke-neubrandenburg.example", phone="+49 40 1234560"
        ),
    )
    claim = {**CLAIM, "items": [{**CLAIM["items"][0], "value": "123456788"}]}
    site = await application.create_site(long, claim)
    await site.payments.harness.rows(_RENAME, "Wohnungsbaugenossenschaftsverwaltung")
    async with a_visit(chromium, site, width=320) as visit:
        await visit.page.goto(f"{site.origin}/q")
        await visit.page.locator("#code").fill(await site.give_code())
        await follow(visit.page.locator("main button"))
        for path in WITH_SUMS:
            await visit.page.goto(site.origin + path)
            measured = await measure(visit.page)
            await keep_screenshot(visit.page, f"long{path.replace('/', '-')}")
            assert (path, measured) == (path, FITTING)


async def test_a_right_to_left_language_does_not_break_the_layout(
    chromium: Browser, resources: Resources, clock: MovableClock, tmp_path: Path
) -> None:
    (tmp_path / "he.po").write_text(_HEBREW)
    both = msgspec.structs.replace(BY_TRANSFER, landing_page=LandingPage(("he", "en")))
    payments = await a_payment_harness(resources, clock, configuration=both, definition=None)
    routes = build_landing_routes(resources, payments.providers, catalogues=tmp_path)
    edge = Middleware(Edge, resources, lambda peer, _forwarded: peer)
    app = Starlette(routes=routes, middleware=[edge])
    landing: Any = LandingHarness(payments, app, None)  # type: ignore[arg-type]
    async with a_server(app) as origin:
        page = await chromium.new_page(viewport={"width": 390, "height": 844})
        await page.goto(f"{origin}{await landing.give_link()}?lang=he")
        async with page.expect_navigation():
            await page.locator("main button").click()
        panel = await page.evaluate("getComputedStyle(document.querySelector('.panel')).direction")
        measured, found = await measure(page), await list_violations(page)
        await keep_screenshot(page, "claim-right-to-left")
        await page.close()

    assert (panel, measured, found) == ("rtl", FITTING, [])
