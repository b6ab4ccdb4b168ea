"""The wheels of other projects, which `make contract` downloads."""

import pytest

from tests.samples.wheels import Wheels, find_wheels


@pytest.fixture(scope="session")
def wheels() -> Wheels:
    return find_wheels()
