"""A full disk: acknowledged claims are kept, other requests are rejected with a proper 503, and
everything continues once there is space again."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.installation import Installation, wait_until
from tests.faults.load import LoadClient, a_load_client

ROUNDS = int(os.environ.get("FULL_DISKS", "1"))
_SIZE = "200m"
_BACK_WITHIN_SECONDS = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount the small disk that is filled: run make faults as root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture
def installation_on_small_disk(small_disk: Path) -> Iterator[Installation]:
    """An installation whose data folder is on the small disk."""
    made = Installation(small_disk / "var")
    yield made
    made.end()


def fill(disk: Path) -> Path:
    """Fill the disk to the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    assert shutil.disk_usage(disk).free < 1 << 13
    return ballast


def fill_and_empty(client: LoadClient, disk: Path) -> None:
    client.wait_for_more(20)
    ballast = fill(disk)
    refused = len(client.refusals)
    wait_until(lambda: len(client.refusals) >= refused + 10, "claims are refused")
    ballast.unlink()
    taken = len(client.acknowledged)
    wait_until(
        lambda: len(client.acknowledged) > taken, "claims are taken again", _BACK_WITHIN_SECONDS
    )


def test_nothing_acknowledged_is_lost_when_the_disk_is_full(
    small_disk: Path, installation_on_small_disk: Installation
) -> None:
    installation_on_small_disk.start_ready()
    client = a_load_client(installation_on_small_disk)
    with client.at_work():
        for _ in range(ROUNDS):
            fill_and_empty(client, small_disk)
    wait_until(installation_on_small_disk.is_ready, "it is ready")
    assert client.find_lost() == set()
    assert client.unclean == []
    print(
        f"{ROUNDS} full disks: {len(client.acknowledged)} claims acknowledged, 0 lost,"
        f" {len(client.refusals)} requests refused"
    )
