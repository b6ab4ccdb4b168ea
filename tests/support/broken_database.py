"""The debtor pages on a database that fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import httpx
from starlette.applications import Starlette

from dunwell.interfaces.landing.application import build_landing_routes
from dunwell.platform.resources import Resources
from tests.support.application import ORIGIN
from tests.support.one_claim import OneClaim


class BrokenDatabase:
    """Raises the same error for every request for a connection."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        raise self._error
        yield

    transaction = connection


@asynccontextmanager
async def pages_over(resources: Resources, error: Exception) -> AsyncIterator[httpx.AsyncClient]:
    """Return the pages on a database that always fails with `error`."""
    broken = replace(resources, database=cast("Any", BrokenDatabase(error)))
    app = Starlette(routes=build_landing_routes(broken, {}))
    transport = OneClaim(httpx.ASGITransport(app))
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as http:
        yield http
