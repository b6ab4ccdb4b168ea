"""Joining and signing in, in Chromium: with a passkey of a virtual authenticator, and with a
password and an app without scripts on a phone. Every page on the way is accessible and fits its
width."""

from collections.abc import AsyncIterator

import pyotp
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from dunwell.accounts.users.passwords import SignInServices
from dunwell.platform.clock import SystemClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.browser.page_checks import list_violations
from tests.support.served import ServedApplication, serve
from tests.support.users import a_new_user, build_sign_in_services, invite

PASSWORD = "gravel lantern oboe 71"
_AUTHENTICATOR = {
    "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
    "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip


@pytest.fixture
async def served(resources: Resources, database: Database) -> AsyncIterator[ServedApplication]:
    """The application at a host name, which passkeys need, and in real time, which apps use."""
    live = Resources(resources.settings, database, SystemClock(), resources.ids, resources.keys)
    async with serve(live, "localhost") as served:
        yield served


async def create_invitation_link(served: ServedApplication, email: str) -> str:
    services: SignInServices = build_sign_in_services(served.resources)
    made = await invite(services, a_new_user(email))
    return f"{served.origin}/portal/invitation/{made.secret}"


async def give_passkeys(context: BrowserContext, page: Page) -> None:
    session = await context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": _AUTHENTICATOR})


async def check_page(page: Page) -> None:
    assert await list_violations(page) == []


async def test_a_passkey_is_registered_used_and_a_second_one_added(
    chromium: Browser, served: ServedApplication
) -> None:
    context = await chromium.new_context(locale="en-GB")
    page, complaints = await context.new_page(), list[str]()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await give_passkeys(context, page)
    await page.goto(await create_invitation_link(served, "erika@example.org"))
    await check_page(page)
    await page.get_by_role("button", name="Create account with passkey").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    await check_page(page)
    await page.get_by_role("button", name="I have saved these codes").click()
    await page.goto(f"{served.origin}/portal/account")
    await check_page(page)
    await page.locator("details.menu summary").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    await check_page(page)
    await page.get_by_role("button", name="Use passkey").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Create your first merchant")
    assert complaints == []
    await context.close()


async def test_password_and_app_work_without_scripts_on_a_phone(
    chromium: Browser, served: ServedApplication
) -> None:
    context = await chromium.new_context(
        locale="de-DE", java_script_enabled=False, viewport={"width": 390, "height": 844}
    )
    page = await context.new_page()
    await page.goto(await create_invitation_link(served, "paul@example.org"))
    secret = (await page.locator("[data-secret]").inner_text()).replace(" ", "")
    await page.get_by_label("Passwort", exact=True).fill(PASSWORD)
    await page.get_by_label("Passwort wiederholen").fill(PASSWORD)
    await page.get_by_label("Sechsstelliger Code").fill(pyotp.TOTP(secret).now())
    await page.get_by_role("button", name="Konto anlegen").click()
    await expect(page.locator("ol.codes li")).to_have_count(10)
    await page.goto(f"{served.origin}/portal/account")
    await expect(page.locator("h1")).to_have_count(1)
    await context.close()


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_pages_about_users_do_not_scroll_sideways(
    chromium: Browser, served: ServedApplication, width: int
) -> None:
    context = await chromium.new_context(viewport={"width": width, "height": 844})
    page = await context.new_page()
    await give_passkeys(context, page)
    await page.goto(await create_invitation_link(served, "erika@example.org"))
    await page.get_by_role("button", name="Create account with passkey").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    for path in (
        "account",
        "account/password",
        "people",
        "accounts/users/invite",
        "accounts/users/audit",
    ):
        await page.goto(f"{served.origin}/portal/{path}")
        await check_page(page)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
    await context.close()


@pytest.mark.parametrize("width", [320, 1280])
async def test_a_passkey_confirms_a_sensitive_action_and_sends_the_form(
    chromium: Browser, served: ServedApplication, width: int
) -> None:
    context = await chromium.new_context(locale="en-GB", viewport={"width": width, "height": 844})
    page = await context.new_page()
    await give_passkeys(context, page)
    await page.goto(await create_invitation_link(served, "erika@example.org"))
    await page.get_by_role("button", name="Create account with passkey").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    async with served.resources.database.transaction() as tx:
        await tx.execute("UPDATE portal_sessions SET confirmed_at = NULL")
    await page.goto(f"{served.origin}/portal/people/invite")
    await page.get_by_label("Name", exact=True).fill("Paul")
    await page.get_by_label("E-mail address").fill("paul@a-rather-long-domain.example.org")
    await page.get_by_role("radio", name="Admin").check()
    await page.locator("main button.primary").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Confirm it is you")
    await check_page(page)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.get_by_role("button", name="Confirm with a passkey").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("One-time link for Paul")
    await context.close()
