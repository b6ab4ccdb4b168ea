"""Web processes on one database, each on its own socket, which a test kills."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import httpx

from dunwell.accounts.merchants.credentials.tokens import NewCredential
from dunwell.interfaces.cli.main import main
from tests.support.api import form_of
from tests.support.listening import a_listening_socket
from tests.support.processes import start

# A process needs some time to start on a busy machine.
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Web:
    """One `dunwell web` process."""

    process: ForkServerProcess
    origin: str
    data_dir: Path

    def call(
        self, method: str, path: str, token: str = "", key: str | None = None, **given: object
    ) -> httpx.Response:
        """Send a request. `path` is below /api; `given` is passed to httpx."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        return httpx.request(
            method, f"{self.origin}/api{path}", headers=headers, timeout=_TIMEOUT_SECONDS, **given  # type: ignore[arg-type]
        )  # fmt: skip

    def obtain_token(self, credential: NewCredential) -> httpx.Response:
        return self.call("POST", "/token", data=form_of(credential))

    def token_of(self, credential: NewCredential) -> str:
        answer = self.obtain_token(credential)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token


@contextmanager
def a_web(data_dir: Path, database_url: str) -> Iterator[Web]:
    """Run a web process; it is killed at the end at the latest. Its socket listens at once, so a
    client that connects before the process is up waits for it."""
    with a_listening_socket() as listening:
        host, port = listening.getsockname()
        environment = {
            "DUNWELL_DATA_DIR": str(data_dir),
            "DUNWELL_DATABASE_URL": database_url,
            "DUNWELL_LOG_LEVEL": "error",
        }
        process = start(_serve, listening, environment=environment)
    try:
        yield Web(process, f"http://{host}:{port}", data_dir)
    finally:
        process.kill()
        process.join()


def _serve(listening: socket.socket) -> None:
    main(["web", "--listener", str(listening.detach())])


@contextmanager
def two_webs(data_dir: Path, database_url: str) -> Iterator[Sequence[Web]]:
    """Run two web processes and yield once both are up."""
    with a_web(data_dir, database_url) as one, a_web(data_dir, database_url) as two:
        for web in (one, two):
            assert httpx.get(f"{web.origin}/readyz", timeout=_TIMEOUT_SECONDS).status_code == 200
        yield one, two
