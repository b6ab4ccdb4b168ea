"""Fixtures of the tests that start, freeze and kill processes and complete installations."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dunwell.platform.resources import Resources
from tests.api.conftest import api, landing, webs
from tests.faults.installation import Installation
from tests.portal.conftest import clerk
from tests.support.clusters import NEWER, Cluster, Servers, a_served_cluster, an_outbox_on
from tests.support.operator_pages import follow, run_printed
from tests.support.postgres_versions import find_binaries_of
from tests.support.webhooks import Outbox
from tests.usecases.conftest import dunwell

__all__ = ["api", "clerk", "dunwell", "follow", "landing", "run_printed", "webs"]


@pytest.fixture
def bare_installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation that was never started."""
    made = Installation(tmp_path / "var")
    yield made
    made.end()


@pytest.fixture(scope="session")
def used_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an installation that was started once and has stopped."""
    made = Installation(tmp_path_factory.mktemp("used") / "var")
    try:
        made.start_ready()
        assert made.stop() == 0
    finally:
        made.end()
    return made.data_dir


@pytest.fixture
def installation(used_folder: Path, bare_installation: Installation) -> Installation:
    """An installation that was started before, because creating a database takes longer than most
    of these tests."""
    subprocess.run(["cp", "-a", used_folder, bare_installation.data_dir], check=True)
    return bare_installation


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path)
    yield made
    for cluster in made.made:
        cluster.kill()


@pytest.fixture
async def origin(servers: Servers) -> Cluster:
    return await a_served_cluster(servers, NEWER)


@pytest.fixture
async def debian(servers: Servers) -> Cluster:
    """Debian's PostgreSQL with an empty database, accessed as superuser."""
    return await servers.start_new(find_binaries_of(15))


@pytest.fixture
async def outbox(origin: Cluster, resources: Resources) -> Outbox:
    return await an_outbox_on(origin, resources)
