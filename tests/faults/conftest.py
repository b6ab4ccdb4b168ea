"""Fixtures of the tests that start and kill whole installations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.installation import Installation


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "var")
    yield made
    made.end()
