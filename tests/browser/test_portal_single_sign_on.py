"""Single sign-on in Chromium with the pages of oidc-provider: signing in, signing out at the
provider, a refusal, and emergency access; on a wide screen in English and on a phone in German.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import pytest
from playwright.async_api import Browser, Page, expect

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.single_sign_on_settings import (
    GroupRule,
    IdentityProviderSettings,
    SignInSettings,
)
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import NewUser, UserRoles
from dunwell.platform.clock import SystemClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_violations
from tests.support.identity_servers import CLIENT_ID, run_provider
from tests.support.scripted_identity_provider import CLIENT_SECRET
from tests.support.served import ServedApplication, serve
from tests.support.users import PASSWORD, JoinedUser, build_sign_in_services, join

START = "/portal/sign-in/with/kontor"
ERIKA = {"email": "erika@example.org", "groups": ["admins"], "name": "Erika Mustermann"}
GLASS = NewUser("glass@example.org", "Glass", "en", UserRoles(Role.ADMIN), is_break_glass=True)


@dataclass
class Harness:
    served: ServedApplication
    sign_in: SignInSettings
    break_glass_admin: JoinedUser

    async def apply(self, **changed: object) -> None:
        self.sign_in = msgspec.structs.replace(self.sign_in, **changed)
        secrets = {"signIn/oidc/kontor/clientSecretFile": CLIENT_SECRET.encode()}
        await apply_installation(self.served.resources, Installation(sign_in=self.sign_in), secrets)
        await self.served.installation.refresh()


@pytest.fixture
async def harness(resources: Resources, database: Database) -> AsyncIterator[Harness]:
    live = Resources(resources.settings, database, SystemClock(), resources.ids, resources.keys)
    async with serve(live, "localhost") as served, run_provider(served.origin) as identity:
        await identity.send(erika=ERIKA, cook={**ERIKA, "groups": ["cooks"]})
        break_glass_admin = await join(build_sign_in_services(served.resources), GLASS)
        provider = IdentityProviderSettings(
            name="kontor", title="Kontor Login", issuer=identity.issuer, client_id=CLIENT_ID,
            client_secret_file="x", networks=("127.0.0.1",),
            scopes=("openid", "email", "profile", "groups"),
        )  # fmt: skip
        groups = (GroupRule(group="admins", role="ADMIN"),)
        harness = Harness(
            served, SignInSettings(oidc=(provider,), groups=groups), break_glass_admin
        )
        await harness.apply()
        yield harness


@dataclass
class Visitor:
    page: Page
    harness: Harness
    checker: HtmlChecker
    name: str
    complaints: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        await self.page.goto(self.harness.served.origin + path)

    async def check_page(self, step: str) -> None:
        """Check one of our pages."""
        assert self.page.url.startswith(f"{self.harness.served.origin}/portal")
        assert await list_violations(self.page) == []
        width = await self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0
        # Read the document in the browser, because the request cannot be repeated.
        html = await self.page.locator("html").evaluate("it => it.outerHTML")
        source = f"<!DOCTYPE html>{html}"
        assert await self.checker.list_faults(source) == []
        await keep_screenshot(self.page, f"single-sign-on-{self.name}-{step}")

    async def sign_in_there(self, login: str) -> None:
        """Sign in on the provider's own pages."""
        await self.page.locator("input[name=login]").fill(login)
        await self.page.locator("input[name=password]").fill("any")
        await self.page.locator("button[type=submit]").click()
        await self.page.locator("button[type=submit]").click()


@asynccontextmanager
async def a_visitor(
    chromium: Browser, harness: Harness, checker: HtmlChecker, way: Literal["wide", "phone"]
) -> AsyncIterator[Visitor]:
    width, height = (1280, 900) if way == "wide" else (390, 844)
    context = await chromium.new_context(
        locale="en-GB" if way == "wide" else "de-DE",
        viewport={"width": width, "height": height},
    )
    page = await context.new_page()
    visitor = Visitor(page, harness, checker, way)
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    page.on(
        "console",
        lambda line: visitor.complaints.append(line.text) if "Content Sec" in line.text else None,
    )
    yield visitor
    assert visitor.complaints == []
    await context.close()


async def test_single_sign_on_and_sign_out_work_with_the_mouse(
    chromium: Browser, harness: Harness, html_checker: HtmlChecker
) -> None:
    async with a_visitor(chromium, harness, html_checker, "wide") as visitor:
        page = visitor.page
        await visitor.go("/portal/people")
        await visitor.check_page("door")
        await page.get_by_role("link", name="Sign in with Kontor Login").click()
        await visitor.sign_in_there("erika")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Users")
        assert page.url == f"{harness.served.origin}/portal/people"
        await page.get_by_role("link", name="Erika Mustermann").first.click()
        await visitor.check_page("user")
        await visitor.go("/portal/account")
        await visitor.check_page("account")
        await page.locator("details.menu summary").click()
        await page.get_by_role("button", name="Sign out").click()
        await visitor.check_page("left")
        await page.get_by_role("link", name="Also sign out of Kontor Login").click()
        await page.get_by_role("button", name="Yes").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert page.url.startswith(f"{harness.served.origin}/portal/sign-in")


async def test_after_a_refused_single_sign_on_break_glass_access_works_on_a_phone(
    chromium: Browser, harness: Harness, html_checker: HtmlChecker
) -> None:
    await harness.apply(required=True)
    async with a_visitor(chromium, harness, html_checker, "phone") as visitor:
        page = visitor.page
        await visitor.go("/portal/sign-in")
        await visitor.check_page("door")
        await page.get_by_role("link", name="Mit Kontor Login anmelden").click()
        await visitor.sign_in_there("cook")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Nicht angemeldet")
        await visitor.check_page("refused")
        await page.get_by_role("link", name="Zurück").click()
        await page.locator("summary", has_text="Notfallzugang").click()
        await visitor.check_page("emergency")
        await page.get_by_label("E-Mail-Adresse").fill(harness.break_glass_admin.email)
        await page.get_by_label("Passwort").fill(PASSWORD)
        await page.get_by_role("button", name="Weiter").click()
        await expect(page.get_by_label("Sechsstelliger Code")).to_be_visible()


async def test_an_unavailable_identity_provider_is_reported(
    chromium: Browser, harness: Harness, html_checker: HtmlChecker
) -> None:
    [provider] = harness.sign_in.oidc
    away = msgspec.structs.replace(provider, issuer="http://127.0.0.1:9", title="Kontor Login")
    await harness.apply(oidc=(away,))
    async with a_visitor(chromium, harness, html_checker, "wide") as visitor:
        await visitor.go("/portal/sign-in")
        await visitor.page.get_by_role("link", name="Sign in with Kontor Login").click()
        await expect(visitor.page.get_by_role("alert")).to_contain_text(
            "Kontor Login does not respond."
        )
        await visitor.check_page("away")
