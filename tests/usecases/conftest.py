"""Fixtures for the command line on the test database."""

import pytest

from dunwell.platform.config import Settings
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.support.command_line import CommandLine


@pytest.fixture
def dunwell(settings: Settings, postgres: EmbeddedPostgres, database: Database) -> CommandLine:
    return CommandLine(settings.data_dir, postgres.url)
