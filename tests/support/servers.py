"""A PostgreSQL server for one test, which can be stopped, frozen, filled and copied."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from dunwell.platform.embedded.postgres_user import become_user, get_server_user


class OwnServer:
    """The server is started by `start` and stopped at the end of the block; a frozen server is
    resumed first."""

    def __init__(self, folder: Path) -> None:
        self.postgres = EmbeddedPostgres(folder, get_binaries_folder(None))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.postgres.url

    def start(self) -> None:
        self._process = self.postgres.start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=20)

    def freeze(self) -> None:
        """Freeze the server and all its processes: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def copy_as_standby(self, folder: Path) -> "OwnServer":
        """Start a read-only standby that follows this server."""
        standby = OwnServer(folder)
        folder.mkdir()
        _give_to_server(folder)
        data = folder / "data"
        subprocess.run(
            [
                self.postgres.binaries / "pg_basebackup", "--pgdata", data, "--write-recovery-conf",
                "--host", self.postgres.socket_folder, "--username=postgres", "--checkpoint=fast",
            ],
            check=True, capture_output=True,
            preexec_fn=become_user(get_server_user(), [folder, self.postgres.binaries]),
        )  # fmt: skip
        return standby

    def end(self) -> None:
        if self._process is None:
            return
        with contextlib.suppress(psutil.Error):
            self.thaw()
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=20)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        for each in (server, *server.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(number)


@contextlib.contextmanager
def an_own_server(folder: Path) -> Iterator[OwnServer]:
    """Make the folder accessible for the server's user."""
    for parent in (folder, *folder.parents):
        if parent.exists() and parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    server = OwnServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.end()


def _give_to_server(folder: Path) -> None:
    if os.geteuid() == 0:
        user = get_server_user()
        shutil.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o700)
