"""`dunwell web` and `dunwell worker` report when they are ready, and what they wait for before."""

import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.support.processes import complete_environment

_TIMEOUT_SECONDS = 60
_WAITING = (
    "dunwell: not ready: The database does not have the tables of this version; the operator of "
    "this service must run: dunwell migrate\n"
)
_ASKED = ["/api/token", "/api/merchants/1/events", "/readyz", "/q/abcdefghijklmnopqrstuv"]


def _find_free_ports(count: int) -> Sequence[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


@contextmanager
def _started(word: str, folder: Path, url: str) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """Start the process; yield it with its port and its operator port."""
    port, operators = _find_free_ports(2)
    environment = {
        "DUNWELL_DATA_DIR": str(folder),
        "DUNWELL_DATABASE_URL": url,
        "DUNWELL_LOG_LEVEL": "error",
        "DUNWELL_PORT": str(port),
        "DUNWELL_OPERATOR_BIND": f"127.0.0.1:{operators}",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "dunwell", word], env=complete_environment(environment),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process, port, operators
    finally:
        process.kill()
        process.communicate()


def _read_line(stream: object) -> str:
    """Return the next line that is no log record."""
    line: str = stream.readline()  # type: ignore[attr-defined]
    return _read_line(stream) if line.startswith("{") else line


def _ask(origin: str, path: str) -> httpx.Response:
    if path == "/api/token":
        given = {"grant_type": "client_credentials", "client_id": "a", "client_secret": "b"}
        return httpx.post(origin + path, data=given, timeout=_TIMEOUT_SECONDS)
    headers = {"Authorization": "Bearer x"} if "merchants" in path else {}
    return httpx.get(origin + path, headers=headers, timeout=_TIMEOUT_SECONDS)


@pytest.fixture
async def empty(postgres: EmbeddedPostgres, database: Database) -> AsyncIterator[str]:
    """Yield the address of a database without a schema."""
    async with database.connection() as connection:
        await connection.execute("DROP DATABASE IF EXISTS empty WITH (FORCE)")
        await connection.execute("CREATE DATABASE empty TEMPLATE template0")
    yield postgres.url.replace("/postgres?", "/empty?")
    async with database.connection() as connection:
        await connection.execute("DROP DATABASE empty WITH (FORCE)")


@pytest.mark.parametrize("word", ["web", "worker"])
@pytest.mark.usefixtures("database")
def test_web_and_worker_report_readiness_and_serve_metrics(
    word: str, tmp_path: Path, postgres: EmbeddedPostgres
) -> None:
    with _started(word, tmp_path, postgres.url) as (process, port, operators):
        origin = f"http://127.0.0.1:{operators}"
        expected = {
            "web": f"ready http://127.0.0.1:{port}\n",
            "worker": f"ready, worker, health and metrics at {origin}\n",
        }
        assert _read_line(process.stdout) == expected[word]
        assert httpx.get(f"{origin}/readyz", timeout=_TIMEOUT_SECONDS).status_code == 200
        figures = httpx.get(f"{origin}/metrics", timeout=_TIMEOUT_SECONDS).text
        assert "dunwell_worker_done" in figures
        process.send_signal(signal.SIGTERM)
        assert process.wait(_TIMEOUT_SECONDS) == 0


def test_web_on_an_unmigrated_database_answers_503_until_it_is_migrated(
    empty: str, tmp_path: Path
) -> None:
    with _started("web", tmp_path, empty) as (process, port, _):
        assert _read_line(process.stderr) == _WAITING
        for path in _ASKED:
            answer = _ask(f"http://127.0.0.1:{port}", path)
            assert (path, answer.status_code) == (path, 503)
            assert answer.headers["Retry-After"]
            is_page = "text/html" in answer.headers["Content-Type"]
            assert is_page or "dunwell migrate" in answer.text, path
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 0)[0] == []
        migrate(empty)
        assert _read_line(process.stdout).startswith("ready http://")


def test_a_worker_on_an_unmigrated_database_is_not_ready(empty: str, tmp_path: Path) -> None:
    with _started("worker", tmp_path, empty) as (process, _, operators):
        assert _read_line(process.stderr) == _WAITING
        answer = httpx.get(f"http://127.0.0.1:{operators}/readyz", timeout=_TIMEOUT_SECONDS)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
