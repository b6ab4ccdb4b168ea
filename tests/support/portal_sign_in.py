"""The portal's sign-in pages, simulated with an HTTP client: an application at the test's origin,
and visitors with cookies and a current page."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

import httpx
from starlette.applications import Starlette

from dunwell.accounts.users.passwords import Passwords, SignInServices
from dunwell.interfaces.api.app import build_app
from dunwell.interfaces.landing.application import build_site
from dunwell.interfaces.portal.application import build_portal_routes
from dunwell.interfaces.portal.web.site import PortalServices
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.children import DOCUMENTS, INSPECTOR, PAINTER, PRINTER
from tests.support.users import PASSWORD, CountingHasher, JoinedUser

ORIGIN = "https://pay.example.org"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin", "Origin": ORIGIN}
SESSION, ENTRY = "__Host-dunwell-portal", "__Host-dunwell-portal-entry"
_FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@dataclass(frozen=True)
class SignInPages:
    app: Starlette
    services: SignInServices

    def visitor(self, address: str = "203.0.113.7") -> "SignInVisitor":
        transport = httpx.ASGITransport(self.app, client=(address, 40000))
        agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"}
        return SignInVisitor(
            httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=agent), self.services
        )


@lru_cache(maxsize=4)
def build_sign_in_pages(resources: Resources, origin: str = ORIGIN) -> SignInPages:
    """Return the application for these resources. It is kept, because compiling its templates takes
    long."""
    settings = replace(resources.settings, public_url=origin)
    there = replace(resources, settings=settings)
    passwords = Passwords(CountingHasher())
    debtors = build_site(there, {}, inspector=INSPECTOR, printer=PRINTER)
    routes = [
        *build_portal_routes(
            there, debtors, PortalServices(passwords, PAINTER, documents=DOCUMENTS)
        )
    ]
    app = build_app(there, [], INSPECTOR, routes)
    return SignInPages(app, SignInServices(there, passwords))


@dataclass
class SignInVisitor:
    http: httpx.AsyncClient
    services: SignInServices
    page: httpx.Response | None = None

    async def get(self, path: str, **headers: str) -> httpx.Response:
        self.page = await self.http.get(path, headers=headers)
        return self.page

    async def post(
        self, path: str, headers: Mapping[str, str] = SAME_ORIGIN, /, **fields: str
    ) -> httpx.Response:
        """Post exactly these fields."""
        self.page = await self.http.post(path, data=fields, headers=dict(headers))
        return self.page

    async def send(self, shown_at: str, path: str = "", /, **fields: str) -> httpx.Response:
        """Submit the form of the page at this address with its hidden fields."""
        shown = await self.get(shown_at)
        assert shown.status_code == 200, shown.text
        return await self.post(path or shown_at, **{**read_hidden(shown.text), **fields})

    async def submit_password(self, person: JoinedUser, password: str = PASSWORD) -> httpx.Response:
        return await self.send("/portal/sign-in", email=person.email, password=password)

    async def sign_in(self, person: JoinedUser) -> httpx.Response:
        """Sign in with the next code of the app."""
        await self.submit_password(person)
        return await self.submit_code(person)

    async def submit_code(self, person: JoinedUser) -> httpx.Response:
        clock = self.services.resources.clock
        assert isinstance(clock, MovableClock)
        clock.advance(timedelta(seconds=30))
        code = person.code(clock.now())
        return await self.send("/portal/sign-in/code", code=code)

    @property
    def session(self) -> str | None:
        return self.http.cookies.get(SESSION)


def read_hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of all forms on the page, with those of earlier forms first."""
    return {name: html.unescape(value) for name, value in _FIELD.findall(page)}
