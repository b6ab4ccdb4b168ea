"""Requests that create claims, over keep-alive connections, sent with little overhead.

It runs in its own process, reads a job from standard input and writes the result to standard
output. Each connection sends its next request when the last response has arrived.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import cast

import msgspec
import uvloop

from bench.claims import make_body


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Requests to send. The job ends after this number of `requests` or, if it is None, after
    `seconds`."""

    ports: list[int]
    merchant_id: int
    token: str
    connections: int
    claims: int
    first_number: int
    requests: int | None = None
    seconds: float = 0
    # The beginning of the Idempotency-Key headers. Without it, the requests have no keys.
    keys: str = ""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    claims: int
    seconds: float
    median_ms: float
    p99_ms: float
    failures: int
    first_failure: str = ""

    @property
    def rate(self) -> float:
        """Return the claims per second."""
        return self.claims / self.seconds


class _Course:
    """The requests to send and the results, which all connections share."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self.requests = requests
        self.durations: list[float] = []
        self.failures: list[bytes] = []
        self.under_way = 0
        self.ended = asyncio.get_running_loop().create_future()


class _Caller(asyncio.Protocol):
    """One connection. Responses must have a Content-Length, as all of ours do."""

    def __init__(self, course: _Course) -> None:
        self._course = course
        self._received = b""
        self._began = 0.0
        self._is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._course.under_way += 1
        self._send()

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        head_end = received.find(b"\r\n\r\n")
        place = received.find(b"content-length: ", 0, head_end)
        if head_end < 0 or place < 0:
            self._received = received
            return
        length = int(received[place + 16 : received.index(b"\r\n", place)])
        if len(received) < head_end + 4 + length:
            self._received = received
            return
        self._received = b""
        self._note(received)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_waiting:
            self._course.failures.append(f"the connection was lost: {exc}".encode())
        self._course.under_way -= 1
        if self._course.under_way == 0:
            self._course.ended.set_result(None)

    def _note(self, answer: bytes) -> None:
        self._course.durations.append(time.perf_counter() - self._began)
        self._is_waiting = False
        if not answer.startswith(b"HTTP/1.1 200 ") or b'"error":{' in answer:
            self._course.failures.append(answer[:500])

    def _send(self) -> None:
        request = next(self._course.requests, None)
        if request is None:
            self._transport.close()
            return
        self._is_waiting = True
        self._began = time.perf_counter()
        self._transport.write(request)


async def run(job: Job) -> Load:
    if job.requests is None:
        requests = _until(_endless(job), time.perf_counter() + job.seconds)
    else:
        endless = _endless(job)
        requests = iter([next(endless) for _ in range(job.requests)])
    course = _Course(requests)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    for number in range(job.connections):
        port = job.ports[number % len(job.ports)]
        await loop.create_connection(lambda: _Caller(course), "127.0.0.1", port)
    await course.ended
    return _summarize(job, course, time.perf_counter() - started)


def _summarize(job: Job, course: _Course, seconds: float) -> Load:
    ordered = sorted(course.durations)
    return Load(
        claims=len(ordered) * job.claims,
        seconds=seconds,
        median_ms=ordered[len(ordered) // 2] * 1000,
        p99_ms=ordered[len(ordered) * 99 // 100] * 1000,
        failures=len(course.failures),
        first_failure=course.failures[0].decode(errors="replace") if course.failures else "",
    )


def _endless(job: Job) -> Iterator[bytes]:
    """Yield complete requests, each with new reference numbers."""
    number = job.first_number
    sample = make_body(range(number, number + job.claims))
    head = (
        f"POST /api/merchants/{job.merchant_id}/claims HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {job.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(sample)}\r\n"
    ).encode()
    while True:
        key = f"Idempotency-Key: {job.keys}-{number}\r\n" if job.keys else ""
        yield head + key.encode() + b"\r\n" + make_body(range(number, number + job.claims))
        number += job.claims


def _until(requests: Iterator[bytes], end: float) -> Iterator[bytes]:
    while time.perf_counter() < end:
        yield next(requests)


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(run(job))))


if __name__ == "__main__":
    main()
