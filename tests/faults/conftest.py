"""Fixtures of the tests that start and kill whole installations."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from dunwell.platform.resources import Resources
from tests.faults.installation import Installation, plain_environment
from tests.servers.debian import replace_in
from tests.support.clusters import NEWER, Cluster, Servers, a_served_cluster, an_outbox_on
from tests.support.postgres_versions import find_binaries_of
from tests.support.webhooks import Outbox

_PAGES = Path(__file__).parents[2] / "docs" / "operator"
# The command. One that serves is ended as soon as it says that it is ready.
_DUNWELL = f"""#!{sys.executable}
import os, subprocess, sys
command = [{sys.executable!r}, "-m", "dunwell", *sys.argv[1:]]
if sys.argv[1] not in ("web", "worker", "mail"):
    os.execv(command[0], command)
serving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
print(serving.stdout.readline(), end="", flush=True)
serving.terminate()
sys.exit(serving.wait(30))
"""

Follow = Callable[..., str]


def read_blocks(section: str, page: str = "recovery.md", language: str = "sh") -> list[str]:
    text = (_PAGES / page).read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def bare_installation(tmp_path: Path) -> Iterator[Installation]:
    """One that was never started."""
    made = Installation(tmp_path / "var")
    yield made
    made.end()


@pytest.fixture(scope="session")
def used_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an installation that was started once and has ended."""
    made = Installation(tmp_path_factory.mktemp("used") / "var")
    try:
        made.start_ready()
        assert made.stop() == 0
    finally:
        made.end()
    return made.data_dir


@pytest.fixture
def installation(used_folder: Path, bare_installation: Installation) -> Installation:
    """One that was started before: to make a database takes longer than most of these tests."""
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
    """Debian's PostgreSQL with an empty database, as its superuser."""
    return await servers.start_new(find_binaries_of(15))


@pytest.fixture
async def outbox(origin: Cluster, resources: Resources) -> Outbox:
    return await an_outbox_on(origin, resources)


@pytest.fixture
def follow(tmp_path: Path) -> Follow:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dunwell").write_text(_DUNWELL)
    (programs / "dunwell").chmod(0o755)

    def run(
        section: str, place: int = 0, *, page: str = "recovery.md",
        changes: Sequence[tuple[str, str]] = (), **variables: object,
    ) -> str:  # fmt: skip
        """What the section's block of commands prints. changes: hosts and paths of the page that
        are others here; each must be there."""
        environment = {
            **plain_environment(),
            "PATH": f"{programs}:{find_binaries_of(15)}:{os.environ['PATH']}",
            **{name: str(value) for name, value in variables.items()},
        }
        done = subprocess.run(
            ["sh", "-euc", replace_in(read_blocks(section, page)[place], changes)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
