"""A provider with Twilio's API on a real socket. It accepts messages, checks the sender's
credentials, and fails on request. Its delivery reports and replies are signed like Twilio's."""

import asyncio
import hmac
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import httpx
from aiohttp import web

ACCOUNT, TOKEN = "AC00000000000000000000000000000001", b"auth-token"


@dataclass
class FakeTwilio:
    address: str = ""
    messages: list[dict[str, str]] = field(default_factory=list)
    # Status and error code of the next responses. After these, messages are accepted.
    refusals: list[tuple[int, int]] = field(default_factory=list)
    # Whether to close the connection after accepting a message.
    closes_connection: bool = False

    async def take(self, request: web.Request) -> web.StreamResponse:
        words = b64encode(ACCOUNT.encode() + b":" + TOKEN).decode()
        if request.headers.get("Authorization") != f"Basic {words}":
            return web.json_response({"code": 20003, "status": 401}, status=401)
        if self.refusals:
            status, code = self.refusals.pop(0)
            return web.json_response({"code": code, "status": status}, status=status)
        form = await request.post()
        taken = {name: str(value) for name, value in form.items()}
        self.messages.append(taken)
        if self.closes_connection:
            assert request.transport is not None
            request.transport.close()
        sid = f"SM{len(self.messages):032d}"
        return web.json_response({"sid": sid, "status": "queued", "error_code": None}, status=201)

    async def report(self, status: str, *, error: str = "", at: int = -1) -> httpx.Response:
        sid = f"SM{len(self.messages) if at == -1 else at + 1:032d}"
        form = {"MessageSid": sid, "MessageStatus": status, "AccountSid": ACCOUNT}
        form |= {"ErrorCode": error} if error else {}
        return await self.call(self.messages[at]["StatusCallback"], form)

    async def call(
        self, address: str, form: Mapping[str, str], *, token: bytes = TOKEN, behind: str = ""
    ) -> httpx.Response:
        """Send a signed request. `behind` is what follows the signed address."""
        pairs = "".join(name + form[name] for name in sorted(form))
        signature = b64encode(hmac.digest(token, (address + pairs).encode(), "sha1")).decode()
        headers = {
            "X-Twilio-Signature": signature,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        async with httpx.AsyncClient() as http:
            return await http.post(address + behind, content=urlencode(form), headers=headers)


@asynccontextmanager
async def a_fake_twilio() -> AsyncIterator[FakeTwilio]:
    fake = FakeTwilio()
    app = web.Application()
    app.router.add_post(f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json", fake.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await asyncio.wait_for(runner.cleanup(), 10)
