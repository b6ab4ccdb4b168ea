"""The application with its database, and clients of the test merchants."""

from collections.abc import AsyncIterator, Sequence

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.conftest import Tables
from tests.support.api import Api, an_api
from tests.support.landing import LandingHarness, a_landing
from tests.support.web_processes import Web, two_webs


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock) as api:
        yield api


@pytest.fixture
async def sandbox(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    """The same application, in which Nordwind is a sandbox merchant."""
    async with an_api(resources, clock, sandbox=True) as api:
        yield api


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """The debtor pages of one claim of 102.40 EUR, and a browser that has opened nothing yet."""
    async with a_landing(resources, clock) as landing:
        yield landing


@pytest.fixture(scope="session")
async def webs(
    postgres: EmbeddedPostgres, tables: Tables, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Sequence[Web]]:
    """Two web processes on the database, in real time. They start on empty tables, because they
    would refuse to use a database in which an earlier test recorded its own secret key."""
    await tables.begin_empty()
    with two_webs(tmp_path_factory.mktemp("webs"), postgres.url) as webs:
        yield webs
