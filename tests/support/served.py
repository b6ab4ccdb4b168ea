"""The whole web application on a real socket of this machine, at the addresses in its own links."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from starlette.applications import Starlette

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.interfaces.wiring import open_web
from dunwell.platform.http.server import build_server
from dunwell.platform.resources import Resources
from tests.support.listening import a_listening_socket


@dataclass(frozen=True, slots=True)
class ServedApplication:
    """`resources` are those of the application; their settings contain its origin. `port` is its
    port on 127.0.0.1."""

    resources: Resources
    app: Starlette
    installation: CurrentInstallation
    port: int

    @property
    def origin(self) -> str:
        return self.resources.settings.public_url


@asynccontextmanager
async def serve(
    resources: Resources, host: str = "127.0.0.1", *, public_url: str | None = None
) -> AsyncIterator[ServedApplication]:
    """Serve until the block ends. `host` is this machine in the application's origin. `public_url`
    is the origin of a proxy in front of it."""
    with a_listening_socket() as listening:
        port = listening.getsockname()[1]
        origin = public_url or f"http://{host}:{port}"
        settings = replace(resources.settings, public_url=origin, contact_phone="+49 30 23125 010")
        resources = replace(resources, settings=settings)
        async with open_web(resources) as web:
            server = build_server(web.app, web.bounds)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            yield ServedApplication(resources, web.app, web.installation, port)
            server.should_exit = True
            await serving
