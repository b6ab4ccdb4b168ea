"""Webhooks, payments and suppressions in Chromium: every page is accessible and fits its width;
journeys with keyboard and mouse, and without scripts on a phone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from playwright.async_api import Page, expect

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.platform.clock import MovableClock
from tests.browser.browser_page import Tabs, listen
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import OFFERING_ALL, RunningApplication, Site
from tests.support.logged_endpoint import LoggedEndpoint, a_logged_endpoint
from tests.support.portal import COOKIE, sign_in
from tests.support.portal_data import MARKUP, PortalData, create_portal_data
from tests.support.receiver import a_receiver, answers
from tests.support.users import PASSWORD, a_new_user, build_sign_in_services, join

_HEIGHT = 900


@dataclass
class SignedInPage:
    page: Page
    data: PortalData
    logged_endpoint: LoggedEndpoint
    site: Site
    complaints: list[str]

    def address(self, path: str) -> str:
        return f"{self.site.origin}/portal/m/{self.data.harness.merchant.merchant_id}{path}"

    async def go(self, path: str) -> str:
        """Open the path and return the page's source."""
        answer = await self.page.goto(self.address(path))
        assert answer is not None
        assert answer.status == 200, path
        return await answer.text()

    async def press(self, name: str) -> None:
        """Press a button or link with the keyboard only."""
        thing = self.page.get_by_role("button", name=name).or_(
            self.page.get_by_role("link", name=name)
        )
        await thing.first.focus()
        async with self.page.expect_navigation():
            await self.page.keyboard.press("Enter")

    async def check_page(self, name: str) -> None:
        """Check the current page at both widths."""
        for width in (1280, 390):
            await self.page.set_viewport_size({"width": width, "height": _HEIGHT})
            measured = await measure(self.page)
            assert not measured["scrolls"], (name, width, measured)
            assert not measured["broken"], (name, width, measured)
            assert await list_violations(self.page) == [], (name, width)
            await keep_screenshot(self.page, f"money-{name}-{width}")


@asynccontextmanager
async def open_portal(
    tabs: Tabs, application: RunningApplication, *, locale: str = "en-GB", width: int = 1280,
    scripts: bool = True, url: str = "http://127.0.0.1:1/hooks/dunwell",
) -> AsyncIterator[SignedInPage]:  # fmt: skip
    site = await application.create_site(OFFERING_ALL)
    data = await create_portal_data(site.payments.harness)
    logged_endpoint = await a_logged_endpoint(
        data.harness, data.claim_ids[5], f"Bad gateway {MARKUP}", url
    )
    clerk = await sign_in(site.payments.resources, site.app, data.harness, language=locale[:2])
    secret = clerk.http.cookies[COOKIE]
    async with tabs.lend(site, locale=locale, scripts=scripts) as page, listen(page) as complaints:
        await page.context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        yield SignedInPage(page, data, logged_endpoint, site, complaints)


async def _list_paths(tab: SignedInPage) -> dict[str, str]:
    harness, paid = tab.data.harness, tab.data.claim_ids[6]
    payment = (await harness.pay(paid, 20000, "bank-77")).payment.payment_id
    async with harness.work(build_debtor_actor("session-1")) as work:
        choice = PaymentChoice(PaymentChoiceKind.WHOLE, 10240)
        sent = AnnouncedTransfer(choice, harness.clock.now().date())
        request_id = await announce_transfer(work, tab.data.claim_ids[7], sent)
    hook = tab.logged_endpoint.path
    return {
        "webhooks": "/webhooks", "endpoint": hook, "endpoint-filtered": f"{hook}?state=GIVEN_UP",
        "endpoint-none": f"{hook}?type=DISPUTED", "delivery": tab.logged_endpoint.given_up,
        "secret": f"{hook}/secret", "payments": "/payments",
        "payments-unmatched": "/payments?show=unmatched",
        "payments-typed": "/payments?typed=nobody", "requests": "/payments?show=requests",
        "payment": f"/payments/{payment}", "request": f"/payments/requests/{request_id}",
        "suppressions": "/suppressions",
    }  # fmt: skip


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with open_portal(tabs, application, locale=locale) as tab:
        for name, path in (await _list_paths(tab)).items():
            source = await tab.go(path)
            policy = "default-src 'none'"
            faults = [*await html_checker.list_faults(source), *list_loose_ends(source, policy)]
            found += [f"{name} {each}" for each in faults]
            await tab.check_page(f"{name}-{locale[:2]}")
        assert tab.complaints == []
    assert found == []


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_gap_is_replayed_and_a_secret_rotated_with_the_keyboard(
    tabs: Tabs, application: RunningApplication, width: int
) -> None:
    async with (
        a_receiver(answers(202, "thanks")) as receiver,
        open_portal(tabs, application, width=width, url=receiver.url) as tab,
    ):
        page = tab.page
        await tab.go("")
        await page.keyboard.press("g")
        async with page.expect_navigation():
            await page.keyboard.press("w")
        await tab.press("127.0.0.1")
        await expect(page.locator("main")).to_contain_text("acknowledged all but 2.")
        await tab.press("No. 2: CHECKPOINT_REACHED")
        await expect(page.locator("main")).to_contain_text("Bad gateway <b>bold</b>")
        await tab.press("Send again")
        await expect(page.get_by_role("status").first).to_contain_text("is sent again")
        await tab.press("Endpoint")
        await tab.press("Send test event")
        await expect(page.get_by_role("status").first).to_contain_text("acknowledged")
        await tab.check_page(f"test-{width}")
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        await tab.press("Back to endpoint")
        await tab.press("Rotate secret")
        await tab.press("Rotate secret")
        await expect(page.locator("[data-secret]")).to_contain_text("whsec_")
        await tab.check_page(f"secret-shown-{width}")
        assert len(receiver.received) == 1
        assert tab.complaints == []


async def test_a_payment_is_reversed_with_the_mouse_and_stays_in_the_statement(
    tabs: Tabs, application: RunningApplication
) -> None:
    async with open_portal(tabs, application) as tab:
        page = tab.page
        await tab.go("/payments")
        await page.get_by_role("row").filter(has_text="bank-1").get_by_role("link").first.click()
        await expect(page.locator("main")).to_contain_text("The claim is currently paid.")
        await page.get_by_label("Reason").fill("Charged back by the bank")
        await page.get_by_role("button", name="Reverse payment").click()
        await expect(page.get_by_role("status").first).to_contain_text("Outstanding now: €102.40.")
        await expect(page.locator("main")).to_contain_text("Charged back by the bank")
        await tab.check_page("payment-back")
        await page.set_viewport_size({"width": 1280, "height": _HEIGHT})
        await page.get_by_role("link", name="Record correct payment").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Record payment")
        assert tab.complaints == []


async def test_a_payment_is_reversed_without_scripts_on_a_phone(
    tabs: Tabs, application: RunningApplication
) -> None:
    async with open_portal(tabs, application, locale="de-DE", width=390, scripts=False) as tab:
        page = tab.page
        await tab.go("/payments")
        await (
            page.get_by_role("row")
            .filter(has_text="RE-2026-1002")
            .get_by_role("link")
            .first.click()
        )
        await page.get_by_label("Grund").fill("Rücklastschrift")
        await page.get_by_role("button", name="Zahlung stornieren").click()
        await expect(page.get_by_role("status").first).to_contain_text("Jetzt offen: 102,40")


@pytest.mark.parametrize("width", [390, 1280])
async def test_an_address_is_suppressed_and_removed_from_the_list(
    tabs: Tabs, application: RunningApplication, width: int
) -> None:
    async with (
        open_portal(tabs, application) as tab,
        tabs.lend(tab.site) as page,
        listen(page) as complaints,
    ):
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        harness = tab.data.harness
        person = await join(
            build_sign_in_services(tab.site.payments.resources),
            a_new_user("paula@example.org", name="Paula", roles=UserRoles(Role.OPERATOR)),
        )
        assert isinstance(harness.clock, MovableClock)
        harness.clock.advance(timedelta(seconds=30))
        await page.goto(tab.address("/suppressions"))
        await page.get_by_label("E-mail address").fill(person.email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Continue").click()
        await page.get_by_label("Six-digit code").fill(person.code(harness.clock.now()))
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("link", name="Yes, it was me").click()
        await page.goto(tab.address("/suppressions"))
        complaints.clear()  # The pages of signing in have their own tests.
        await page.get_by_text("Add address").click()
        await page.get_by_label("Channel").select_option("EMAIL")
        await page.get_by_label("Address", exact=True).fill("erika@example.org")
        await page.get_by_label("Reason").select_option("DEBTOR")
        await page.get_by_role("button", name="Suppress").click()
        await expect(page.get_by_role("status").first).to_contain_text("Address suppressed")
        lifted = SignedInPage(page, tab.data, tab.logged_endpoint, tab.site, complaints)
        await lifted.check_page(f"suppressions-added-{width}")
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        await page.get_by_role("link", name="Remove from list").click()
        await lifted.check_page(f"suppression-{width}")
        await page.get_by_label("Added by mistake").check()
        await page.get_by_role("button", name="Remove from list").click()
        await expect(page.get_by_role("status").first).to_contain_text("from the suppression list")
        await expect(page.locator("main")).to_contain_text("No entries.")
        assert complaints == []
