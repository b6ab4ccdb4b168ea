"""A page uses one connection at a time: a pool of one connection suffices."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dunwell.platform.database.database import Database
from dunwell.platform.database.pool import PoolLimits
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness
from tests.support.portal import Clerk, sign_in

_PAGES = ("", "/debtor", "/debtor?level=link", "/why", "/account", "/contact", "/payment")


@pytest.fixture
async def single_connection_clerk(
    postgres: EmbeddedPostgres, resources: Resources, harness: Harness
) -> AsyncIterator[Clerk]:
    """A user of a portal with a single connection and a short timeout for it."""
    database = await Database.open(
        postgres.url, size=1, limits=PoolLimits(take_timeout_seconds=0.5)
    )
    narrow = replace(resources, database=database)
    yield await sign_in(resources, an_application(narrow).app, harness)
    await database.close()


@pytest.mark.parametrize("page", _PAGES)
async def test_a_claims_pages_need_only_one_connection(
    single_connection_clerk: Clerk, claim_id: int, page: str
) -> None:
    answer = await single_connection_clerk.get(f"/claims/{claim_id}{page}")

    assert answer.status_code == 200
