"""A minimal client of a merchant for Dunwell's API. The demo creates its claims with it.

Copy it to start your own client. Every response is an envelope: `error` is null or describes what
to change.
"""

import time
from types import TracebackType
from typing import Any, Self

import aiohttp


class RequestRefused(Exception):  # noqa: N818 - names what happened
    """Dunwell refused a request. The message is Dunwell's."""


class MerchantClient:
    """A client for one merchant. It requests tokens when they are needed."""

    def __init__(self, base_url: str, merchant_id: int, client_id: str, client_secret: str) -> None:
        self._base_url = base_url
        self._merchant = f"{base_url}/merchants/{merchant_id}"
        self._login = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": client_secret,
        }
        self._token = ""
        self._token_ends = 0.0
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._http.close()

    async def upload(self, name: str, content: bytes, friendly_name: str) -> str:
        """Upload a file and return the ticket that claims refer to."""
        form = aiohttp.FormData()
        form.add_field("friendlyName", friendly_name)
        form.add_field("fileName", content, filename=name)
        result = await self._ask("POST", "/uploads", data=form)
        return str(result["ticketId"])

    async def create_claims(self, claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Create claims and return one result for each, in the same order."""
        return list(await self._ask("POST", "/claims", json=claims))

    async def get_claim(self, claim_id: int) -> dict[str, Any]:
        return dict(await self._ask("GET", f"/claims/{claim_id}"))

    async def dispute(self, claim_id: int, dispute: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._ask("POST", f"/claims/{claim_id}/disputes", json=dispute))

    async def get_time(self) -> str:
        """Return the current time of the sandbox merchant in ISO 8601."""
        return str((await self._ask("GET", "/test-clock"))["now"])

    async def advance_clock(self, instant: str) -> dict[str, Any]:
        """Advance the sandbox clock. Everything that becomes due until then is run."""
        return dict(await self._ask("POST", "/test-clock", json={"advanceTo": instant}))

    async def _ask(self, method: str, path: str, **request: Any) -> Any:
        headers = {"Authorization": f"Bearer {await self._fetch_token()}"}
        url = self._merchant + path
        async with self._http.request(method, url, headers=headers, **request) as answer:
            envelope = await answer.json()
        if envelope["error"] is not None:
            raise RequestRefused(f"{method} {path}: {answer.status} {envelope['error']}")
        return envelope["result"]

    async def _fetch_token(self) -> str:
        if time.monotonic() >= self._token_ends:
            async with self._http.post(f"{self._base_url}/token", data=self._login) as answer:
                token = await answer.json()
            if "access_token" not in token:
                raise RequestRefused(f"POST /token: {answer.status} {token}")
            self._token = token["access_token"]
            self._token_ends = time.monotonic() + token["expires_in"] - 60
        return self._token
