"""Two identity providers that others wrote, oauth2-mock-server and oidc-provider. Node runs them on
ports of the loopback interface."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.scripted_identity_provider import CLIENT_SECRET
from tests.support.tools import find_tool, skip_or_fail

_ROOT = Path(__file__).resolve().parents[2]
_SUPPORT = _ROOT / "tests/support"
_MODULES = _ROOT / "var/identity/node_modules"
CLIENT_ID = "dunwell"


@dataclass
class IdentityServer:
    """A running server, which a test controls with lines of JSON."""

    issuer: str
    process: asyncio.subprocess.Process

    async def send(self, **message: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()
        return await self.receive()

    async def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := await asyncio.wait_for(self.process.stdout.readline(), 30):
            if line.startswith(b"{"):
                message: dict[str, Any] = json.loads(line)
                return message
        raise AssertionError("the server has ended")


@asynccontextmanager
async def run_mock() -> AsyncIterator[IdentityServer]:
    """Run the mock, which signs in every user and issues tokens with the content that the test
    sets."""
    async with _run("identity_mock.mjs", "oauth2-mock-server/dist/index.mjs") as identity:
        yield identity


@asynccontextmanager
async def run_provider(origin: str) -> AsyncIterator[IdentityServer]:
    """Run a provider with its own sign-in pages. `origin` is the address of Dunwell, to which it
    returns users."""
    more = (origin, CLIENT_ID, CLIENT_SECRET)
    async with _run("identity_provider.mjs", "oidc-provider/lib/index.js", *more) as identity:
        yield identity


@asynccontextmanager
async def _run(program: str, module: str, *more: str) -> AsyncIterator[IdentityServer]:
    node, path = find_tool("node"), _MODULES / module
    if not path.exists():
        skip_or_fail("the servers of single sign-on are not installed; run: make servers")
    process = await asyncio.create_subprocess_exec(
        node, str(_SUPPORT / program), str(path), *more,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    identity = IdentityServer("", process)
    try:
        identity.issuer = (await identity.receive())["issuer"]
        yield identity
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
