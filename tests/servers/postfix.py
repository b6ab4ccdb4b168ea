"""A Postfix with the operator's example files. Mail servers of the tests receive what it sends."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.debian import PRODUCTION, find_port, need_program, replace_in, wait_for

_FILES = PRODUCTION / "postfix"
# The services of every Postfix's master.cf, without chroot and without the public SMTP port.
_SERVICES = """
pickup    unix  n  -  n  60    1  pickup
cleanup   unix  n  -  n  -     0  cleanup
qmgr      unix  n  -  n  300   1  qmgr
tlsmgr    unix  -  -  n  1000? 1  tlsmgr
rewrite   unix  -  -  n  -     -  trivial-rewrite
bounce    unix  -  -  n  -     0  bounce
defer     unix  -  -  n  -     0  bounce
trace     unix  -  -  n  -     0  bounce
verify    unix  -  -  n  -     1  verify
flush     unix  n  -  n  1000? 0  flush
proxymap  unix  -  -  n  -     -  proxymap
smtp      unix  -  -  n  -     -  smtp
relay     unix  -  -  n  -     -  smtp
showq     unix  n  -  n  -     -  showq
error     unix  -  -  n  -     -  error
retry     unix  -  -  n  -     -  error
discard   unix  -  -  n  -     -  discard
lmtp      unix  -  -  n  -     -  lmtp
anvil     unix  -  -  n  -     1  anvil
scache    unix  -  -  n  -     1  scache
postlog   unix-dgram n - n -   1  postlogd
"""


_NO_WORLD = "error:5.1.2 there is no world"


@dataclass(frozen=True)
class Postfix:
    folder: Path
    port: int
    # The LMTP port of `dunwell mail`, and the domain whose mail goes there.
    lmtp_port: int
    # The port of the test mail server for the domain customer.example.
    world_port: int

    @property
    def log(self) -> str:
        return (self.folder / "log" / "postfix.log").read_text(errors="replace")

    def flush(self) -> None:
        """Try to deliver all queued mail now."""
        command = ["postqueue", "-c", str(self.folder / "etc"), "-f"]
        subprocess.run(command, check=True, capture_output=True)


@contextmanager
def start_postfix(
    folder: Path, *, rest: str = _NO_WORLD, milter_port: int | None = None
) -> Iterator[Postfix]:
    """Start Postfix. `rest` is the transport for all other domains. `milter_port` is the port of an
    OpenDKIM; without it, nothing is signed."""
    master = need_program("postfix", "postfix")
    made = Postfix(folder, find_port(), find_port(), find_port())
    _write_configuration(made, rest, milter_port)
    # Starts in its own process group, because the master process starts and ends all the others.
    process = subprocess.Popen(
        [master, "-c", str(folder / "etc"), "start-fg"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(made.port, process, folder / "log" / "postfix.log")
        yield made
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _write_configuration(made: Postfix, rest: str, milter_port: int | None) -> None:
    etc = made.folder / "etc"
    for name in ("etc", "queue", "data", "log"):
        (made.folder / name).mkdir(parents=True)
    for parent in (made.folder, *made.folder.parents):  # must be accessible to Postfix's users
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    shutil.chown(made.folder / "data", "postfix", "postfix")
    main = replace_in(
        (_FILES / "main.cf").read_text(),
        [("/etc/postfix/transport", str(etc / "transport"))],
    )
    own = {
        "queue_directory": made.folder / "queue",
        "data_directory": made.folder / "data",
        "maillog_file": made.folder / "log" / "postfix.log",
        "maillog_file_prefixes": made.folder,
        "inet_protocols": "ipv4",
        "alias_maps": "",
        "alias_database": "",
        "smtpd_timeout": "20s",
        # For tests: queued mail is retried soon, and no names are looked up on the internet.
        "smtp_host_lookup": "native",
        "minimal_backoff_time": "2s",
        "maximal_backoff_time": "2s",
        "queue_run_delay": "1s",
        "smtp_data_done_timeout": "3s",
        "smtp_rcpt_timeout": "3s",
        "lmtp_connect_timeout": "2s",
    }
    lines = [f"{name} = {value}" for name, value in own.items()]
    # These settings replace the same settings in the example.
    kept = [line for line in main.splitlines() if line.split(" =")[0] not in own]
    (etc / "main.cf").write_text("\n".join([*kept, *lines, ""]))
    door = replace_in(
        (_FILES / "master.cf").read_text(), [("127.0.0.1:2525", f"127.0.0.1:{made.port}")]
    )
    milter = "inet:127.0.0.1:8891"
    moved = "" if milter_port is None else f"inet:127.0.0.1:{milter_port}"
    door = replace_in(door, [(milter, moved)])
    (etc / "master.cf").write_text(door + _SERVICES)
    transport = replace_in((_FILES / "transport").read_text(), [("8024", str(made.lmtp_port))])
    world = f"customer.example  smtp:[127.0.0.1]:{made.world_port}\n"
    world += f"example.org  smtp:[127.0.0.1]:{made.world_port}\n"
    (etc / "transport").write_text(f"{transport}{world}*  {rest}\n")


@pytest.fixture(scope="session")
def postfix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postfix]:
    with start_postfix(tmp_path_factory.mktemp("postfix") / "own") as started:
        yield started
