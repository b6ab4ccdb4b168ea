"""Fixtures of the store tests."""

from collections.abc import AsyncIterator

import pytest

from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.support.observed_pool import Opener, an_opener


@pytest.fixture
async def open_own(postgres: EmbeddedPostgres, database: Database) -> AsyncIterator[Opener]:
    async with an_opener(postgres.url, database) as opener:
        yield opener
