"""A debtor's browser simulated with an HTTP client: it follows links, fills forms and keeps
cookies."""

import itertools
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
from starlette.applications import Starlette

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.claim_links import (
    derive_check_code,
    derive_code,
    derive_token,
    digest_check_code,
    digest_code,
    hash_token,
    render_code,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.one_claim import COOKIE, connect_one
from tests.support.payments import PaymentHarness, a_payment_harness

# The headers that a browser sends with a form of one of our pages.
OWN_FORM = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
_step_ids = itertools.count(9000)
_ACCESSES = """
SELECT body::json AS body FROM events
WHERE merchant_id = $1 AND type = 'DETAILS_ACCESSED'
ORDER BY claim_id, sequence
"""
_SAVE_CONTACT = """
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, state, not_before,
     planned_at)
VALUES ($1, $2, $3, 1, $4, 0, $5, 'ACCEPTED', $6, $6)
"""
_SAVE_LINK = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, communication_id, created_at)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_CODE = """
INSERT INTO letter_codes (merchant_id, code_digest, claim_id, communication_id, created_at)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_CHECK = """
INSERT INTO check_codes
    (merchant_id, message_id, code_digest, claim_id, created_at, key_version)
VALUES ($1, $2, $3, $4, $5, $6)
"""


@dataclass
class Browser:
    """One visitor with an IP address, a cookie jar and a current page."""

    http: httpx.AsyncClient
    page: httpx.Response | None = None
    asked: list[str] = field(default_factory=list)

    async def get(self, path: str, **given: Any) -> httpx.Response:
        self.page = await self.http.get(path, **given)
        return self.page

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """Post a form from our own page with exactly these fields."""
        self.page = await self.http.post(path, data=fields, headers=OWN_FORM)
        return self.page

    async def send(
        self, path: str, files: Sequence[tuple[str, bytes]] = (), /, **fields: str
    ) -> httpx.Response:
        """Submit the form for `path` on the current page as multipart, with its hidden fields
        first. Follow redirects within our pages."""
        assert self.page is not None
        parts = [
            (name, (None, text.encode()))
            for name, text in (read_hidden(self.page.text, path) | fields).items()
        ]
        given: Any = [*parts, *(("files", file) for file in files or [("", b"")])]
        answer = await self.http.post(path, files=given, headers=OWN_FORM)
        while answer.status_code == 303 and answer.headers["Location"].startswith("/"):
            answer = await self.get(answer.headers["Location"])
        self.page = answer
        return answer

    async def submit(self, path: str, **fields: str) -> httpx.Response:
        """Submit the form for `path` on the current page with its hidden fields. Follow redirects
        within our pages."""
        assert self.page is not None
        hidden = read_hidden(self.page.text, path)
        answer = await self.post(path, **(hidden | fields))
        while answer.status_code == 303 and answer.headers["Location"].startswith("/"):
            answer = await self.get(answer.headers["Location"])
        return answer

    async def open(self, link: str) -> httpx.Response:
        """Open the link as a person does: load the page and press its button."""
        await self.get(link)
        answer = await self.post(link)
        assert answer.status_code == 303, answer.text
        return await self.get(answer.headers["Location"])

    async def type_code(self, code: str) -> httpx.Response:
        answer = await self.post("/q", code=code)
        if answer.status_code == 303:
            return await self.get(answer.headers["Location"])
        return answer

    @property
    def cookie(self) -> str | None:
        return self.http.cookies.get(COOKIE)


@dataclass
class LandingHarness:
    """A payment setup, its debtor pages, and visitors."""

    payments: PaymentHarness
    app: Starlette
    browser: Browser

    @property
    def claim_id(self) -> int:
        return self.payments.claim_id

    def visitor(self, address: str = "198.51.100.7") -> Browser:
        """Return another browser, for one claim."""
        return Browser(connect_one(self.app, address))

    def copy_browser(self) -> Browser:
        """Return a copy of the browser with its current cookie. Later changes do not reach the
        copy."""
        copy = self.visitor("192.0.2.1")
        copy.http.cookies = httpx.Cookies(self.browser.http.cookies)
        return copy

    async def give_link(self, channel: Channel = "EMAIL", claim_id: int | None = None) -> str:
        """Return the link in a message of this channel."""
        resources, payments = self.payments.resources, self.payments
        communication_id = resources.ids.new(payments.now)
        claim_id = claim_id or payments.claim_id
        await payments.harness.rows(
            _SAVE_CONTACT, communication_id, claim_id, next(_step_ids), channel, payments.now
        )
        token = derive_token(resources.keys, communication_id)
        await payments.harness.rows(
            _SAVE_LINK, hash_token(token), claim_id, communication_id, payments.now
        )
        return f"/q/{token}"

    async def give_code(self, claim_id: int | None = None) -> str:
        """Return the code on a letter as it is printed."""
        keys, now = self.payments.resources.keys, self.payments.now
        communication_id = self.payments.resources.ids.new(now)
        code = derive_code(keys, communication_id)
        await self.payments.harness.rows(
            _SAVE_CODE, digest_code(keys, code), claim_id or self.claim_id, communication_id, now
        )
        return render_code(code)

    async def give_check(self) -> str:
        """Return the code near the end of an e-mail as it is printed."""
        keys, now = self.payments.resources.keys, self.payments.now
        message_id = self.payments.resources.ids.new(now)
        code = derive_check_code(keys, message_id)
        await self.payments.harness.rows(
            _SAVE_CHECK, message_id, digest_check_code(keys, code), self.claim_id, now, keys.version
        )
        return render_code(code)

    async def open(self, channel: Channel = "EMAIL") -> httpx.Response:
        return await self.browser.open(await self.give_link(channel))

    async def accesses(self) -> list[dict[str, Any]]:
        """Return the claim.details of every DETAILS_ACCESSED event."""
        rows = await self.payments.harness.rows(_ACCESSES)
        return [row["body"]["claim"]["details"] for row in rows]


@asynccontextmanager
async def a_landing(
    resources: Resources, clock: MovableClock, **given: Any
) -> AsyncIterator[LandingHarness]:
    """Return debtor pages with a claim. `given` holds arguments of a_payment_harness and, as
    `application`, an application for this test only."""
    application = given.pop("application", None) or an_application(resources)
    payments = await a_payment_harness(resources, clock, **given)
    application.providers.update(payments.providers)
    landing = LandingHarness(payments, application.app, cast("Browser", None))
    landing.browser = landing.visitor("192.0.2.1")
    yield landing


def read_hidden(page: str, path: str) -> dict[str, str]:
    """Return the hidden fields of the first form with this action."""
    found = re.search(rf'<form[^>]*action="{re.escape(path)}".*?</form>', page, re.DOTALL)
    assert found is not None, f"no form for {path}"
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', found[0])
    return dict(fields)
