"""The API while the database is unavailable: 503 with Retry-After, and no restart is needed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.database.pool import PoolLimits
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.claims import a_claim
from tests.support.merchant_ids import use_next_merchant_ids
from tests.support.servers import OwnServer, an_own_server

# Short timeouts. docs/operator/outages.md documents those of the product.
_LIMITS = PoolLimits(
    take_timeout_seconds=1,
    check_after_seconds=0.2,
    ping_seconds=0.6,
    reset_seconds=1,
)
_BOUND_SECONDS = 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnServer]:
    with an_own_server(tmp_path / "postgres") as server:
        yield server


@pytest.fixture
async def own(server: OwnServer, tmp_path: Path, clock: MovableClock) -> AsyncIterator[Api]:
    """The application with this server as its database."""
    url = server.url
    settings = load_settings({"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_DATABASE_URL": url})
    await asyncio.to_thread(migrate, url)
    database = await Database.open(url, size=4, limits=_LIMITS)
    async with database.connection() as connection:
        await use_next_merchant_ids(connection)
    keys = KeyRing(settings.secret_key)
    async with an_api(Resources(settings, database, clock, RandomIds(), keys), clock) as api:
        yield api
    await database.close()


async def test_requests_get_a_retry_time_and_succeed_once_the_database_is_back(
    own: Api, server: OwnServer
) -> None:
    [claim_id] = await own.nordwind.create()
    server.stop()

    for answer in (
        await own.nordwind.get(f"/claims/{claim_id}"),
        await own.nordwind.post("/claims", [a_claim("A-2")], key="k"),
        await own.nordwind.http.get("/readyz"),
    ):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.json()["error"]["type"] == "Unavailable"
    assert (await own.nordwind.http.get("/healthz")).status_code == 200

    server.start()
    assert (await own.nordwind.http.get("/readyz")).status_code == 200
    again = await own.nordwind.post("/claims", [a_claim("A-2")], key="k")
    assert again.json()["result"][0]["error"] is None


async def test_the_token_endpoint_reports_the_outage_in_oauth_format(
    own: Api, server: OwnServer
) -> None:
    server.stop()
    form = {"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"}

    answer = await own.nordwind.send("POST", "/token", token="", data=form)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.json()["error"] == "temporarily_unavailable"
    server.start()


async def test_requests_to_a_frozen_database_fail_in_time_and_later_succeed(
    own: Api, server: OwnServer
) -> None:
    [claim_id] = await own.nordwind.create()
    server.freeze()
    try:
        async with asyncio.timeout(_BOUND_SECONDS):
            answers = await asyncio.gather(
                *(own.nordwind.get(f"/claims/{claim_id}") for _ in range(8)),
                *(
                    own.nordwind.post("/claims", [a_claim(f"F-{n}")], key=f"f-{n}")
                    for n in range(4)
                ),
            )
    finally:
        server.thaw()
    assert {(each.status_code, each.headers["Retry-After"]) for each in answers} == {(503, "2")}
    # Repeated with their keys, the requests take effect once, whatever happened the first time.
    for n in range(4):
        for _ in range(2):
            again = await own.nordwind.post("/claims", [a_claim(f"F-{n}")], key=f"f-{n}")
            assert again.json()["result"][0]["error"] is None
    assert await own.count("claims") == 5
