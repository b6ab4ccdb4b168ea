"""No acknowledged claim is lost: processes are killed under load, and the load client's log is
compared with the stored claims."""

import itertools
import os

import psutil

from tests.faults.installation import Installation, wait_until
from tests.faults.load import LoadClient, a_load_client, execute

KILLS = int(os.environ.get("FAULT_KILLS", "3"))
_ROLES = ("postgres", "web", "worker")
# With these settings, recent commits exist only in memory.
_CARELESS = (
    "ALTER SYSTEM SET synchronous_commit = off",
    "ALTER SYSTEM SET wal_writer_delay = '10s'",
    "ALTER SYSTEM SET wal_writer_flush_after = '1GB'",
    "SELECT pg_reload_conf()",
)


def kill_under_load(
    client: LoadClient, up: psutil.Process, kills: int, roles: tuple[str, ...]
) -> None:
    installation = client.installation
    with client.at_work():
        for role in itertools.islice(itertools.cycle(roles), kills):
            client.wait_for_more(50)
            killed = installation.find_child(up, role)
            assert killed is not None, role
            killed.kill()
            killed.wait()
            wait_until(installation.is_ready, f"it answers again, with another {role}")


def test_nothing_acknowledged_is_lost_when_processes_are_killed(
    installation: Installation,
) -> None:
    up = installation.start_ready()
    client = a_load_client(installation)
    kill_under_load(client, up, KILLS, _ROLES)
    assert len(client.acknowledged) >= 50 * KILLS
    assert client.find_lost() == set()
    print(f"{KILLS} kills: {len(client.acknowledged)} claims acknowledged, 0 lost")


def test_claims_are_lost_when_commits_do_not_wait_for_the_disk(
    installation: Installation,
) -> None:
    """The control: with the fault planted, the check above finds losses."""
    up = installation.start_ready()
    client = a_load_client(installation)
    execute(installation, *_CARELESS)
    kill_under_load(client, up, 1, ("postgres",))
    assert client.find_lost() != set()
