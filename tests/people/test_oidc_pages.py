"""Single sign-on over HTTP: the button, the cookie, the return address, and the pages of each
outcome."""

import html
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.users.passwords import Passwords, SignInServices
from dunwell.adapters.identity_providers import IdentityProviderAdapters
from dunwell.interfaces.api.app import build_app
from dunwell.interfaces.landing.application import build_site
from dunwell.interfaces.portal.application import build_portal_routes
from dunwell.interfaces.portal.web.site import PortalServices
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from tests.support.children import DOCUMENTS, INSPECTOR, PAINTER, PRINTER
from tests.support.portal_sign_in import ORIGIN, SESSION, SignInPages, SignInVisitor
from tests.support.single_sign_on import SingleSignOnHarness, a_single_sign_on_harness
from tests.support.users import CountingHasher, a_new_user, join

ATTEMPT = "__Host-dunwell-portal-attempt"
START, BACK = "/portal/sign-in/with/kontor", "/portal/sign-in/with/kontor/back"
LOGOUT, LEAVE = "/portal/sign-in/with/kontor/logout", "/portal/sign-in/with/kontor/leave"


@dataclass
class Site:
    harness: SingleSignOnHarness
    pages: SignInPages
    installation: CurrentInstallation

    async def apply(self, **changed: Any) -> None:
        await self.harness.change(**changed)
        await self.installation.refresh()

    async def sign_in_by_provider(self, visitor: SignInVisitor, to: str = "", **claims: Any) -> Any:
        """Follow the button to the provider and return."""
        self.harness.scripted.claims = claims
        sent = await visitor.get(START + (f"?next={to}" if to else ""))
        assert sent.status_code == 303, sent.text
        returned = self.harness.scripted.consent(sent.headers["Location"])
        return await visitor.get(f"{BACK}?{urlencode(returned)}")


@pytest.fixture
async def site(resources: Resources) -> AsyncIterator[Site]:
    there = replace(resources, settings=replace(resources.settings, public_url=ORIGIN))
    passwords = Passwords(CountingHasher())
    async with a_single_sign_on_harness(SignInServices(there, passwords)) as harness:
        installation = CurrentInstallation(there)
        await installation.refresh()
        providers = IdentityProviderAdapters(installation)
        debtors = build_site(there, {}, inspector=INSPECTOR, printer=PRINTER)
        routes = [
            *build_portal_routes(
                there, debtors, PortalServices(passwords, PAINTER, providers, documents=DOCUMENTS)
            )
        ]
        app = build_app(there, [], INSPECTOR, routes)
        yield Site(harness, SignInPages(app, harness.services), installation)
        await providers.close()


def count_forged() -> float:
    labels = {"type": "LOGOUT_FORGED"}
    return REGISTRY.get_sample_value("dunwell_security_events_total", labels) or 0.0


def get_variable(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_the_sign_in_page_has_a_button_for_each_provider(site: Site) -> None:
    page = await site.pages.visitor().get("/portal/sign-in?next=/portal/people")
    assert 'href="/portal/sign-in/with/kontor?next=%2Fportal%2Fpeople"' in page.text
    words = get_variable(page.text)
    assert "Sign in with Kontor Login" in words
    assert "Sign in with a password" in words
    german = await site.pages.visitor().get("/portal/sign-in", **{"Accept-Language": "de"})
    assert "Mit Kontor Login anmelden" in get_variable(german.text)


async def test_a_completed_sign_in_redirects_to_the_requested_page_without_the_code(
    site: Site,
) -> None:
    visitor = site.pages.visitor()
    answer = await site.sign_in_by_provider(visitor, "/portal/people")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/portal/people")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert visitor.http.cookies.get(ATTEMPT) is None
    page = await visitor.get("/portal/people")
    assert page.status_code == 200
    assert "Erika Mustermann" in page.text


async def test_the_cookie_of_an_attempt_is_as_strict_as_possible(site: Site) -> None:
    sent = await site.pages.visitor().get(START)
    [cookie] = sent.headers.get_list("set-cookie")
    rest = "; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600"
    assert re.fullmatch(rf"{ATTEMPT}=[\w-]{{43}}{rest}", cookie)
    assert sent.headers["Location"].startswith(site.harness.scripted.issuer)


async def test_the_host_header_does_not_change_the_redirect_uri(site: Site) -> None:
    sent = await site.pages.visitor().get(START, Host="localhost:4711")
    address = sent.headers["Location"]
    assert parse_qs(urlsplit(address).query)["redirect_uri"] == [f"{ORIGIN}{BACK}"]


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "/portal\\@evil", "/q"])
async def test_the_next_page_cannot_lead_to_another_site(site: Site, to: str) -> None:
    answer = await site.sign_in_by_provider(site.pages.visitor(), to)
    assert answer.headers["Location"] == "/portal"


async def test_a_planted_session_cookie_is_replaced_at_sign_in(site: Site) -> None:
    visitor = site.pages.visitor()
    visitor.http.cookies.set(SESSION, "A" * 43, domain="pay.example.org")
    await site.sign_in_by_provider(visitor)
    assert visitor.session not in (None, "A" * 43)


async def test_the_code_of_another_browser_does_not_sign_in(site: Site) -> None:
    mallory, victim = site.pages.visitor("198.51.100.9"), site.pages.visitor()
    sent = await mallory.get(START)
    returned = site.harness.scripted.consent(sent.headers["Location"])
    answer = await victim.get(f"{BACK}?{urlencode(returned)}")
    assert answer.headers["Location"] == "/portal/sign-in?fault=SSO_GONE&provider=kontor"
    assert victim.session is None
    shown = await victim.get(answer.headers["Location"])
    assert "started too long ago, in another tab" in get_variable(shown.text)


async def test_an_unavailable_provider_does_not_prevent_sign_in_by_password(site: Site) -> None:
    erika = await join(site.pages.services, a_new_user())
    site.harness.scripted.answers["/.well-known/openid-configuration"] = (503, b"")
    visitor = site.pages.visitor()
    page = await visitor.get(START)
    assert page.status_code == 503
    assert "Kontor Login does not respond." in get_variable(page.text)
    assert (await visitor.sign_in(erika)).status_code == 303


async def test_a_user_without_a_configured_group_is_refused_with_the_reason(site: Site) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor)
    answer = await site.sign_in_by_provider(visitor, groups=["cooks"])
    assert answer.status_code == 403
    assert "none of your groups there has access to Dunwell" in get_variable(answer.text)
    assert (await visitor.get("/portal/account")).status_code == 303


async def test_a_taken_address_shows_the_safely_quoted_link_command(
    site: Site,
) -> None:
    await join(site.pages.services, a_new_user())
    answer = await site.sign_in_by_provider(site.pages.visitor(), sub="x'; rm -rf / #")
    assert answer.status_code == 403
    command = html.unescape(re.findall(r"<code>(.*?)</code>", answer.text)[0])
    assert command == (
        "dunwell user link erika@example.org --provider kontor --subject 'x'\"'\"'; rm -rf / #'"
    )


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("fault=SSO_AWAY&provider=kontor", "Kontor Login does not respond"),
        ("fault=SSO_DENIED&provider=kontor", "not signed in with Kontor Login"),
        ("fault=SSO_REJECTED&provider=kontor", "could not be verified"),
        ("fault=SSO_REJECTED&provider=nobody", "Your sign-in has expired"),
        ("fault=%3Cb%3E&provider=kontor", "Sign in with Kontor Login"),
    ],
)  # fmt: skip
async def test_failures_are_shown_in_our_own_words(site: Site, query: str, words: str) -> None:
    page = await site.pages.visitor().get(f"/portal/sign-in?{query}")
    assert page.status_code == 200
    assert words in get_variable(page.text)


@pytest.mark.parametrize("path", [START, BACK, LEAVE])
async def test_an_unknown_provider_is_answered_with_404(site: Site, path: str) -> None:
    answer = await site.pages.visitor().get(path.replace("kontor", "nobody"))
    assert answer.status_code == 404


async def test_with_required_single_sign_on_the_password_form_is_for_emergencies(
    site: Site,
) -> None:
    await site.apply(required=True)
    page = await site.pages.visitor().get("/portal/sign-in")
    words = get_variable(page.text)
    assert "Emergency access for admins" in words
    assert "Sign in with a password" not in words
    assert "Have you forgotten your password" not in words


async def test_signing_out_offers_to_sign_out_at_the_provider(site: Site) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor)
    answer = await visitor.send("/portal/account", "/portal/sign-out")
    shown = await visitor.get(answer.headers["Location"])
    assert "still signed in with Kontor Login" in get_variable(shown.text)
    there = await visitor.get(LEAVE)
    address = urlsplit(there.headers["Location"])
    assert there.headers["Location"].startswith(f"{site.harness.scripted.issuer}/end?")
    assert address.query == (
        "client_id=dunwell%20at%20work"
        "&post_logout_redirect_uri=https%3A%2F%2Fpay.example.org%2Fportal%2Fsign-in"
    )


async def test_the_account_page_says_that_the_provider_has_password_and_factor(site: Site) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor, locale="en")
    words = get_variable((await visitor.get("/portal/account")).text)
    assert "by single sign-on (kontor)" in words
    assert "Second factors" not in words
    assert "Add passkey" not in words


async def test_a_user_of_a_provider_cannot_set_up_a_password_or_app(site: Site) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor)
    answer = await visitor.send(
        "/portal/account/password", password="", password_new="basalt harp 2 river",
        password_again="basalt harp 2 river",
    )  # fmt: skip
    assert answer.status_code == 400
    answer = await visitor.send("/portal/account/app", password="")
    assert answer.status_code == 400
    assert await site.harness.count("authentication_factors") == 0


async def test_a_logout_by_the_provider_over_http_ends_the_session_once(site: Site) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor)
    token = site.harness.scripted.build_logout()
    provider = site.pages.visitor("192.0.2.1").http
    answer = await provider.post(LOGOUT, data={"logout_token": token})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await visitor.get("/portal/account")).status_code == 303
    before = count_forged()
    again = await provider.post(LOGOUT, data={"logout_token": token})
    assert (again.status_code, again.json()["error"]) == (400, "invalid_request")
    assert again.headers["Cache-Control"] == "no-store"
    assert count_forged() == before + 1


@pytest.mark.parametrize(
    "body", [b"", b"logout_token=", b"logout_token=a&logout_token=b", b"x=1", b"\xff\xfe=%ff"]
)
async def test_an_invalid_logout_request_is_refused(site: Site, body: bytes) -> None:
    visitor = site.pages.visitor()
    await site.sign_in_by_provider(visitor)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await site.pages.visitor().http.post(LOGOUT, content=body, headers=form)
    assert answer.status_code == 400
    assert (await visitor.get("/portal/account")).status_code == 200


async def test_a_logout_request_that_is_too_large_is_not_read(site: Site) -> None:
    answer = await site.pages.visitor().http.post(LOGOUT, content=b"x" * 200_000)
    assert answer.status_code == 413


async def test_a_logout_that_cannot_be_verified_now_is_answered_with_retry(site: Site) -> None:
    site.harness.scripted.answers["/keys"] = (503, b"")
    token = site.harness.scripted.build_logout()
    answer = await site.pages.visitor().http.post(LOGOUT, data={"logout_token": token})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


async def test_a_changed_provider_in_the_file_applies_at_once(site: Site) -> None:
    provider = site.harness.adapter.settings
    await site.harness.change_provider(title="Anderes Haus")
    await site.installation.refresh()
    assert "Anderes Haus" in (await site.pages.visitor().get("/portal/sign-in")).text
    await site.apply(oidc=(), groups=())
    assert (await site.pages.visitor().get(START)).status_code == 404
    await site.apply(oidc=(provider,))
    assert (await site.pages.visitor().get(START)).status_code == 303
