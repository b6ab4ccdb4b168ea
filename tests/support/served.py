"""The whole web application on a real socket of this machine, where its own addresses lead to."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from starlette.applications import Starlette

from dunwell.installation.standing import StandingInstallation
from dunwell.kit.http_server import build_server
from dunwell.kit.resources import Resources
from dunwell.wiring import open_web


@dataclass(frozen=True, slots=True)
class Served:
    """`resources` as the application has them: their settings name its origin."""

    resources: Resources
    app: Starlette
    installation: StandingInstallation

    @property
    def origin(self) -> str:
        return self.resources.settings.public_url


@asynccontextmanager
async def serve(resources: Resources, host: str = "127.0.0.1") -> AsyncIterator[Served]:
    """Until the block ends. host: what its origin calls this machine."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        origin = f"http://{host}:{listening.getsockname()[1]}"
        settings = replace(resources.settings, public_url=origin, contact_phone="+49 30 23125 010")
        resources = replace(resources, settings=settings)
        async with open_web(resources) as web:
            server = build_server(web.app, web.bounds)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            yield Served(resources, web.app, web.installation)
            server.should_exit = True
            await serving
