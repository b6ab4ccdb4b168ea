"""Fixtures of the tests that start and kill whole installations."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dunwell.kit.resources import Resources
from tests.faults.installation import Installation, plain_environment
from tests.support.clusters import NEWER, Cluster, Servers, a_served_cluster, an_outbox_on
from tests.support.webhooks import Outbox

_PAGE = Path(__file__).parents[2] / "docs" / "operator" / "recovery.md"
_DUNWELL = f'#!/bin/sh\nexec "{sys.executable}" -m dunwell "$@"\n'

Follow = Callable[..., str]


def read_blocks(section: str) -> list[str]:
    text = _PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


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
async def outbox(origin: Cluster, resources: Resources) -> Outbox:
    return await an_outbox_on(origin, resources)


@pytest.fixture
def follow(tmp_path: Path) -> Follow:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dunwell").write_text(_DUNWELL)
    (programs / "dunwell").chmod(0o755)

    def run(section: str, place: int = 0, **variables: object) -> str:
        """What the section's block of commands prints."""
        environment = {
            **plain_environment(),
            "PATH": f"{programs}:{NEWER}:{os.environ['PATH']}",
            **{name: str(value) for name, value in variables.items()},
        }
        done = subprocess.run(
            ["sh", "-euc", read_blocks(section)[place]],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
