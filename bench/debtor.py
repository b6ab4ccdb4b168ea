"""A debtor who uses the pages of a web process: opens pages, fills forms and follows redirects.
This is not measured; it brings claims into the states whose pages are measured."""

import re
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import aiohttp

from bench.merchant import BenchMerchant
from dunwell.interfaces.landing.render.addresses import insert_handle
from dunwell.interfaces.landing.session.lifecycle import ClaimSessionOpening, open_session
from dunwell.interfaces.landing.session.session import VALUE_BYTES, Level, derive_handle
from dunwell.interfaces.web.responses import name_cookie

_FORM = re.compile(r"<form.*?</form>", re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


@dataclass(frozen=True, slots=True)
class Debtor:
    """A debtor with a browser. `cookie` is the value of the `Cookie` header, "" for none."""

    http: aiohttp.ClientSession
    origin: str
    cookie: str = ""

    async def look(self, path: str) -> tuple[str, str]:
        """Return the page and its address after all redirects."""
        path = find_place(path, self.cookie)
        async with self.http.get(self.origin + path, headers=self._headers) as response:
            return await _read(response)

    async def send(self, page: str, action: str, **fields: str) -> str:
        """Fill in the form for `action` on `page`, and return the address of the redirect."""
        action = find_place(action, self.cookie)
        form = _find_form((await self.look(page))[0], action)
        given = dict(_HIDDEN.findall(form)) | fields
        data = _as_parts(given) if "multipart/form-data" in form else given
        async with self.http.post(
            self.origin + action, data=data, headers=self._headers
        ) as response:
            return (await _read(response))[1]

    @property
    def _headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie} if self.cookie else {}


async def open_claim(bench: BenchMerchant, claim_id: int, level: Level) -> str:
    """Return the cookie of a new session of this level."""
    now = datetime.now(UTC)
    opening = ClaimSessionOpening(
        claim_id, None, None, level, bench.resources.ids.new(now), secrets.token_bytes(VALUE_BYTES),
    )  # fmt: skip
    async with bench.resources.database.transaction() as tx:
        work = replace(bench.work(tx), real_now=now)
        opened = await open_session(work, bench.resources.keys, opening)
    handle = derive_handle(opened.session.session_id)
    return f"{name_cookie(handle, is_secure=False)}={opened.cookie_value}"


def find_place(path: str, cookie: str) -> str:
    """Return the address with the handle of the claim to which the cookie belongs."""
    handle = cookie.partition("=")[0].rpartition("-")[2]
    is_bare = handle and path.startswith("/claim") and f"/{handle}" not in path
    return insert_handle(path, handle) if is_bare else path


async def _read(response: aiohttp.ClientResponse) -> tuple[str, str]:
    text = await response.text()
    assert response.status == 200, (response.url, response.status, text)
    return text, response.url.path_qs


def _find_form(page: str, action: str) -> str:
    forms = (found[0] for found in _FORM.finditer(page))
    return next(form for form in forms if f'action="{action}"' in form)


def _as_parts(fields: dict[str, str]) -> aiohttp.FormData:
    parts = aiohttp.FormData()
    for name, value in fields.items():
        parts.add_field(name, value, content_type="text/plain")
    return parts
