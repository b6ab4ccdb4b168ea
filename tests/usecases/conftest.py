"""The command line on the test's database."""

from pathlib import Path

import pytest

from dunwell.kit.db import Database
from dunwell.kit.postgres import EmbeddedPostgres
from tests.support.command_line import CommandLine


@pytest.fixture
def dunwell(tmp_path: Path, postgres: EmbeddedPostgres, database: Database) -> CommandLine:
    return CommandLine(tmp_path, postgres.url)
