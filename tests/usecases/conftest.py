"""The command line on the test's database."""

import pytest

from dunwell.config import Settings
from dunwell.kit.db import Database
from dunwell.kit.postgres import EmbeddedPostgres
from tests.support.command_line import CommandLine


@pytest.fixture
def dunwell(settings: Settings, postgres: EmbeddedPostgres, database: Database) -> CommandLine:
    return CommandLine(settings.data_dir, postgres.url)
