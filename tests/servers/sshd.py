"""An OpenSSH server on the loopback interface with its own keys and folder, run by the user of the
tests. It uses `examples/production/sshd-letters.conf` with other users and paths."""

import contextlib
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from dunwell.accounts.installation.delivery_providers import BatchSettings, SftpProvider

_EXAMPLE = Path(__file__).parents[2] / "examples/production/sshd-letters.conf"
_HEAD = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
MaxStartups 200
LogLevel ERROR
"""


@dataclass
class Sshd:
    """A server that can be stopped and started again on the same port."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    # The command that starts the server and is replaced by it.
    around: tuple[str, ...] = ()

    def refuse_files(self) -> None:
        """Let users sign in, and refuse each session for files. Call it before the server
        starts."""
        config = self.folder / "sshd_config"
        config.write_text(config.read_text().replace("internal-sftp", "/bin/false"))

    def take_password(self, password: bytes) -> bool:
        """Let the user of the tests sign in with this password. Call it before the server starts. A
        shadow file that only the server sees replaces the machine's own, which needs root. Return
        False if that is not possible."""
        made = subprocess.run(
            ["openssl", "passwd", "-6", "-stdin"], input=password, capture_output=True, check=True
        )
        shadow = self.folder / "shadow"
        shadow.write_text(
            f"{getpass.getuser()}:{made.stdout.decode().strip()}:20000:0:99999:7:::\n"
        )
        shadow.chmod(0o600)
        put_over = 'mount --bind "$0" /etc/shadow && exec "$@"'
        self.around = ("unshare", "--mount", "sh", "-c", put_over, str(shadow))
        config = self.folder / "sshd_config"
        config.write_text(config.read_text().replace("PasswordAuthentication no", ""))
        tried = subprocess.run([*self.around, "true"], capture_output=True, check=False)
        return os.getuid() == 0 and tried.returncode == 0

    @property
    def letter_folder(self) -> Path:
        return self.folder / "out"

    def start(self) -> None:
        path = shutil.which("sshd") or "/usr/sbin/sshd"
        self.process = subprocess.Popen(
            [*self.around, path, "-D", "-e", "-f", str(self.folder / "sshd_config")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        _await_answer(self.port)

    def stop(self) -> None:
        """Stop the server and all its connections."""
        if self.process is not None:
            for pid in [*_list_below(self.process.pid), self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def cut(self) -> None:
        """Close its connections; the server keeps running."""
        assert self.process is not None
        for pid in _list_below(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def count_sessions(self) -> int:
        """Count the processes of its open connections."""
        assert self.process is not None
        return len(_list_below(self.process.pid))

    def halt(self) -> None:
        """Stop all processing: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        for pid in [*_list_below(self.process.pid), self.process.pid]:
            os.kill(pid, number)

    def replace_host_key(self) -> None:
        _write_host_key(self.folder)

    def provider(self, **changes: object) -> SftpProvider:
        public = (self.folder / "host_key.pub").read_text().split()
        usual: dict[str, object] = {
            "channel": "LETTER",
            "server": f"127.0.0.1:{self.port}",
            "host_key": " ".join(public[:2]),
            "user": getpass.getuser(),
            "key_file": "letters_key",
            "folder": str(self.letter_folder),
            "batch": BatchSettings(every_minutes=60, most=1000),
        }
        return SftpProvider(**(usual | changes))  # type: ignore[arg-type]

    @property
    def secrets(self) -> dict[str, bytes]:
        """Return the secrets of a delivery provider named post."""
        return {"deliveryProviders/post/keyFile": (self.folder / "letters_key").read_bytes()}


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    server = make_sshd(tmp_path / "sshd")
    server.start()
    try:
        yield server
    finally:
        server.stop()


def make_sshd(folder: Path) -> Sshd:
    folder.mkdir(parents=True)
    (folder / "out").mkdir()
    if os.getuid() == 0:
        # The server confines its unprivileged process in this folder.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    _write_host_key(folder)
    key = asyncssh.generate_private_key("ssh-ed25519")
    (folder / "letters_key").write_bytes(key.export_private_key())
    (folder / "letters_keys").write_bytes(key.export_public_key())
    port = _find_port()
    example = _EXAMPLE.read_text().replace("/etc/ssh", str(folder))
    example = example.replace("Match User letters", f"Match User {getpass.getuser()}")
    # A server can confine its users only below folders that root owns.
    example = re.sub(r".*ChrootDirectory.*\n", "", example)
    head = _HEAD.format(port=port, folder=folder)
    (folder / "sshd_config").write_text(f"{head}Subsystem sftp internal-sftp\n{example}")
    return Sshd(folder, port)


def _write_host_key(folder: Path) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    private = folder / "host_key"
    private.unlink(missing_ok=True)
    private.touch(0o600)
    private.write_bytes(key.export_private_key())
    (folder / "host_key.pub").write_bytes(key.export_public_key())


def _list_below(pid: int) -> list[int]:
    """List the descendants of a process; none if it has ended."""
    found: list[int] = []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return found
    for each in children.split():
        found += [*_list_below(int(each)), int(each)]
    return found


def _find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _await_answer(port: int) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as opened:
                assert opened.recv(4) == b"SSH-"
                return
        except OSError:
            assert time.monotonic() < until, "sshd does not answer"
            time.sleep(0.05)
