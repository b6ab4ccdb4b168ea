"""Some or all processes of `dunwell up` are killed with SIGKILL: it continues, or the next one
takes over."""

import signal
import subprocess
from functools import partial

import psutil
import pytest

from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from tests.faults.installation import ROUNDS, TIMEOUT_SECONDS, Installation, kill_all, wait_until


@pytest.mark.parametrize("_round", ROUNDS)
def test_a_killed_child_process_is_restarted(installation: Installation, _round: int) -> None:
    up = installation.start_ready()
    for role in ("web", "worker", "postgres"):
        killed = installation.find_child(up, role)
        assert killed is not None, role
        killed.kill()
        wait_until(
            partial(_is_replaced, installation, up, role=role, killed=killed), f"another {role}"
        )
        wait_until(installation.is_ready, f"it answers again, with another {role}")
    assert installation.stop() == 0
    assert installation.find_processes() == []


def _is_replaced(
    installation: Installation, up: psutil.Process, *, role: str, killed: psutil.Process
) -> bool:
    found = installation.find_child(up, role)
    return found is not None and found.pid != killed.pid


@pytest.mark.parametrize("_round", ROUNDS)
def test_child_processes_end_when_up_is_killed(installation: Installation, _round: int) -> None:
    up = installation.start_ready()
    up.kill()
    wait_until(lambda: installation.find_processes() == [], "its children end", seconds=15)


@pytest.mark.parametrize("_round", ROUNDS)
def test_up_starts_at_once_after_up_was_killed(installation: Installation, _round: int) -> None:
    installation.start_ready("--workers", "2").kill()
    installation.start_ready()
    assert installation.stop() == 0
    assert installation.find_processes() == []


@pytest.mark.parametrize("_round", ROUNDS)
def test_up_starts_after_all_processes_were_killed(installation: Installation, _round: int) -> None:
    up = installation.start_ready()
    kill_all([up, *up.children(recursive=True)])
    installation.start_ready()
    assert installation.stop() == 0
    assert installation.find_processes() == []


def test_a_database_left_running_is_restarted(installation: Installation) -> None:
    folder = installation.data_dir / "postgres"
    left = EmbeddedPostgres(folder, get_binaries_folder(None)).start()
    up = installation.start_ready()
    assert left.poll() == 0
    server = installation.find_child(up, "postgres")
    assert server is not None
    assert server.pid != left.pid
    assert installation.stop() == 0


def test_a_stale_pid_file_does_not_end_an_unrelated_process(installation: Installation) -> None:
    folder = installation.data_dir / "postgres"
    server = EmbeddedPostgres(folder, get_binaries_folder(None)).start()
    server.send_signal(signal.SIGINT)
    server.wait(TIMEOUT_SECONDS)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        pid_file = folder / "data" / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n")
        installation.start_ready()
        assert stranger.poll() is None
        stranger.kill()
    assert installation.stop() == 0
