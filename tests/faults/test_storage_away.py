"""An object store that refuses, hangs and recovers: requests that need it fail in time, and other
requests do not wait."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dunwell.core.files import storage
from dunwell.core.files.storage import ContentMissing, Storage
from dunwell.platform.errors import Unavailable

_TIMEOUT_SECONDS = 0.5
# The default number of threads of a process, which is more than a storage uses.
_MANY = 50
# A hanging request, repeated refusals and earlier requests together take less than a lease and a
# proxy's timeout.
_PROMISED_SECONDS = 20.0


class _ObjectStore(BaseHTTPRequestHandler):
    """The part of S3 that these tests use."""

    kept: dict[str, bytes]

    def do_PUT(self) -> None:
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def do_GET(self) -> None:
        content = self.kept.get(self.path)
        self._answer(404 if content is None else 200, content or b"")

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Mon, 02 Mar 2026 09:00:00 GMT")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _serving(port: int) -> Iterator[None]:
    handler = type("Handler", (_ObjectStore,), {"kept": {}})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    """The port in the variables of the object store. No server listens there yet."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    for name, value in {
        "AWS_ENDPOINT": f"http://127.0.0.1:{number}", "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return number


@contextmanager
def _hanging(port: int) -> Iterator[None]:
    """Accept connections and never answer."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(_MANY * 2)
        yield


async def _try_all(store: Storage) -> None:
    for calling in (store.save("1/a", b"x"), store.load("1/a"), store.remove("1/a")):
        with pytest.raises(Unavailable, match="storage is not available"):
            await calling


def test_the_default_timeouts_match_the_documented_limit() -> None:
    assert storage.TIMEOUT_SECONDS <= _PROMISED_SECONDS


async def test_a_refusing_store_is_reported_and_used_again_later(port: int) -> None:
    store = Storage.open("s3://bucket/files")
    async with asyncio.timeout(_PROMISED_SECONDS * 3):
        await _try_all(store)
    with _serving(port):
        await store.save("1/a", b"x")
        assert await store.load("1/a") == b"x"
        with pytest.raises(ContentMissing):
            await store.load("1/b")


async def test_a_hanging_store_is_reported_in_time_and_used_again_later(port: int) -> None:
    store = Storage.open("s3://bucket/files", _TIMEOUT_SECONDS)
    with _hanging(port):
        async with asyncio.timeout(_PROMISED_SECONDS):
            await _try_all(store)
    with _serving(port):
        await store.save("1/a", b"x")
        assert await store.load("1/a") == b"x"


async def test_requests_to_a_hanging_store_do_not_delay_other_work(port: int) -> None:
    store = Storage.open("s3://bucket/files", _TIMEOUT_SECONDS)
    with _hanging(port):
        waiting = [asyncio.create_task(store.save(f"1/{n}", b"x")) for n in range(_MANY)]
        await asyncio.sleep(0)
        # Other work in threads is done while all requests to the store wait.
        assert await asyncio.to_thread(len, "abc") == 3
        assert not any(each.done() for each in waiting)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(each) for each in outcomes} == {Unavailable}
