"""A real Kannel (bearerbox and smsbox, from Debian) in front of the SMS centre in `smpp_simulator`.
It uses examples/production/kannel.conf with other ports, folders and secrets."""

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.servers.smpp_simulator import SmsCentre

_CONF = Path(__file__).parents[2] / "examples" / "production" / "kannel.conf"
PASSWORD = b"sendsms-secret"
INCOMING_SECRET = b"incoming-secret"
_ADMIN = "admin-secret"
_WAIT_SECONDS = 20.0


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Kannel:
    """Running Kannel processes. `address` is that of sendsms."""

    folder: Path
    centre: SmsCentre
    # The address at which Kannel calls Dunwell back.
    public_url: str = "http://127.0.0.1:9"
    changes: Mapping[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    boxes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.ports['sendsms']}"

    def write_conf(self) -> Path:
        """Write the operator's configuration with the test's values."""
        names = ("admin", "boxes", "sendsms")
        self.ports = self.ports or {name: find_port() for name in names}
        text = _CONF.read_text()
        changes = {
            "admin-port": str(self.ports["admin"]),
            "smsbox-port": str(self.ports["boxes"]),
            "sendsms-port": str(self.ports["sendsms"]),
            "host": "127.0.0.1",
            "port": str(self.centre.port),
            "reconnect-delay": "1",
            "enquire-link-interval": "2",
            "connection-timeout": "5",
            "http-queue-delay": "1",
            "sms-resend-freq": "1",
            "sms-resend-retry": "2",
            "throughput": "2000",
            "max-pending-submits": "100",
            "store-location": str(self.folder / "spool"),
            "dlr-spool": str(self.folder / "reports"),
            **self.changes,
        }
        for key, value in changes.items():
            text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
            assert count, key
        for before, after in {
            "CHANGE-ME-ADMIN": _ADMIN,
            "CHANGE-ME-SMPP": self.centre.password,
            "CHANGE-ME-SENDSMS": PASSWORD.decode(),
            "CHANGE-ME-INCOMING": INCOMING_SECRET.decode(),
            "https://claims.example.com": self.public_url,
            "/var/log/kannel": str(self.folder),
        }.items():
            text = text.replace(before, after)
        path = self.folder / "kannel.conf"
        path.write_text(text)
        return path

    async def start(self) -> None:
        for name in ("spool", "reports"):
            (self.folder / name).mkdir(exist_ok=True)
        path = self.write_conf()
        self._start_box("bearerbox", path)
        await self._wait_for(lambda: "<boxes>" in self._read_status())
        self._start_box("smsbox", path)
        await self._wait_for(lambda: "<type>smsbox</type>" in self._read_status())
        await self.wait_until_bound()
        await self._wait_for(self._is_listening)

    async def restart(self, **changes: str) -> None:
        """Restart with further changes of the configuration; underscores in names stand for
        hyphens."""
        await self.stop()
        self.changes = {**self.changes, **{k.replace("_", "-"): v for k, v in changes.items()}}
        await self.start()

    async def wait_until_bound(self) -> None:
        await self._wait_for(lambda: "online" in self._read_smsc_status())

    async def start_box(self, name: str) -> None:
        """Start a process that was stopped."""
        self._start_box(name, self.folder / "kannel.conf")

    def _start_box(self, name: str, path: Path) -> None:
        program = shutil.which(name, path="/usr/sbin:/usr/bin")
        assert program is not None, f"{name} is not installed (tests/servers/packages.txt)"
        self.boxes[name] = subprocess.Popen(
            [program, "-v", "4", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    async def end_box(self, name: str) -> None:
        """Kill a process with SIGKILL."""
        box = self.boxes.pop(name)
        box.kill()
        await asyncio.to_thread(box.wait, 10)

    async def stop(self) -> None:
        for name in list(self.boxes):
            await self.end_box(name)

    async def _wait_for(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(_WAIT_SECONDS):
            while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.05)

    def _read_status(self) -> str:
        url = f"http://127.0.0.1:{self.ports['admin']}/status.xml?password={_ADMIN}"
        try:
            with urlopen(url, timeout=5) as answer:
                content: bytes = answer.read()
        except (URLError, OSError):
            return ""
        return content.decode("latin-1")

    def _read_smsc_status(self) -> str:
        found = re.search(r"<smsc>.*?<status>(.*?)</status>", self._read_status(), re.DOTALL)
        return found[1] if found else ""

    async def wait_until_empty(self) -> None:
        """Wait until no message is queued."""
        await self._wait_for(lambda: "<queued>0</queued>" in self._read_status())

    async def wait_until_connected(self) -> None:
        """Wait until the processes are connected to each other again, which takes them up to ten
        seconds."""
        await self._wait_for(lambda: "<type>smsbox</type>" in self._read_status())
        await self.wait_until_bound()

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports["sendsms"])) == 0


@asynccontextmanager
async def a_kannel(
    folder: Path, *, public_url: str = "http://127.0.0.1:9", **changes: str
) -> AsyncIterator[Kannel]:
    """Run Kannel. `changes` are changes of the configuration; underscores in names stand for
    hyphens."""
    centre = SmsCentre()
    await centre.start()
    written = {name.replace("_", "-"): value for name, value in changes.items()}
    kannel = Kannel(folder, centre, public_url, written)
    try:
        await kannel.start()
        yield kannel
    finally:
        await kannel.stop()
        await centre.stop()
