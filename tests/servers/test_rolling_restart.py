"""Two web processes behind the nginx of examples/production are restarted one after the other, as
for an upgrade, while visitors and merchants send requests. None of them notices."""

import asyncio
import contextlib
import signal
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.servers.debian import find_port
from tests.servers.nginx import HOST, Nginx, run_nginx
from tests.support.processes import complete_environment

_TIMEOUT_SECONDS = 60
_CLIENTS = 8
# For nginx all clients of the test are one visitor, so its rate limit is raised.
_CHANGES = [("rate=100r/s", "rate=100000r/s")]


class WebProcess:
    """A `dunwell web` on its own port, as a service manager runs it."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.port = find_port()
        self._environment = {
            "DUNWELL_DATA_DIR": str(folder),
            "DUNWELL_DATABASE_URL": database_url,
            "DUNWELL_PUBLIC_URL": f"https://{HOST}",
            "DUNWELL_LOG_LEVEL": "error",
            "DUNWELL_PORT": str(self.port),
        }
        self._process: subprocess.Popen[str] | None = None

    async def start(self) -> None:
        self._process = subprocess.Popen(  # noqa: ASYNC220 - starting one takes no time
            [sys.executable, "-m", "dunwell", "web"],
            env=complete_environment(self._environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        assert line == f"ready http://127.0.0.1:{self.port}\n"

    async def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(self._process.communicate, timeout=_TIMEOUT_SECONDS)
        assert self._process.returncode == 0

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


@dataclass
class Load:
    """The response statuses by method."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)

    def count(self, method: str) -> int:
        return sum(n for (asked, _), n in self.answers.items() if asked == method)


@asynccontextmanager
async def under_load(nginx: Nginx) -> AsyncIterator[Load]:
    """Run clients that read pages and clients that write, each with one request after the other."""
    load = Load()
    context = ssl.create_default_context(cafile=str(nginx.certificate))
    origin = f"https://127.0.0.1:{nginx.port}"
    async with aiohttp.ClientSession(headers={"Host": HOST}) as session:

        async def send(method: str, path: str, body: bytes | None) -> None:
            while True:
                async with session.request(
                    method, origin + path, data=body, ssl=context, server_hostname=HOST
                ) as answer:
                    await answer.read()
                    load.answers[method, answer.status] += 1

        kinds = [("GET", "/q", None), ("POST", "/api/merchants/1/claims", b'{"claims": []}')]
        tasks = [asyncio.create_task(send(*kinds[n % 2])) for n in range(_CLIENTS)]
        try:
            yield load
            for task in tasks:
                assert not task.done(), task.exception()
        finally:
            for task in tasks:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.usefixtures("database")
async def test_a_rolling_restart_under_load_fails_no_request(
    tmp_path: Path, postgres: EmbeddedPostgres
) -> None:
    folder = tmp_path / "nginx"
    folder.mkdir()
    first, second = (WebProcess(tmp_path / "var", postgres.url) for _ in range(2))
    try:
        await asyncio.gather(first.start(), second.start())
        with run_nginx(folder, first.port, _CHANGES, second_port=second.port) as nginx:
            async with under_load(nginx) as load:
                for each in (first, second):
                    await asyncio.sleep(0.5)
                    await each.stop()
                    await each.start()
                await asyncio.sleep(0.5)
    finally:
        first.kill()
        second.kill()
    print(dict(load.answers))
    assert {status for _, status in load.answers} == {200, 401}
    assert min(load.count("GET"), load.count("POST")) > 200
