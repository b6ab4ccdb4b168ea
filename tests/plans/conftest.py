"""The test server as it plans statements in production."""

from collections.abc import Mapping

import pytest


@pytest.fixture(scope="session")
def server_settings() -> Mapping[str, str]:
    return {"fsync": "off", "full_page_writes": "off"}
