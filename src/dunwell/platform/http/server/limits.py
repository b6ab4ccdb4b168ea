"""The limits of a web process for its clients: numbers, sizes, durations and transfer rates."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dunwell.platform.errors import RateLimited, Refusal, Unavailable
from dunwell.platform.http.addresses import get_visitor_network

# A response: its status, headers and body.
RenderedResponse = tuple[int, list[tuple[bytes, bytes]], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How much one process accepts at a time, and how slow a client may be.

    A minimum rate is a number of bytes within a number of seconds. It is measured only while the
    server waits for the client. A client below the rate is disconnected.
    """

    # The first line and all headers of a request.
    head_bytes: int = 64 * 1024
    # The time from the first byte of a head to its end.
    head_seconds: float = 10.0
    # The time from the connection or the last response to the first byte of a request.
    idle_seconds: float = 10.0
    # Replaces `idle_seconds` while the server is shutting down. The proxy of examples/production
    # closes an unused connection after 5 s, so it closes first and never sends a request too late.
    drain_seconds: float = 6.0
    # The minimum rate of a body. At 400 bytes a second, it is slower than any network in use.
    body_bytes: int = 8 * 1024
    body_seconds: float = 20.0
    # All trailers and chunk extensions of a request. Both are ignored, so little is enough.
    trailer_bytes: int = 8 * 1024
    # How much of a body is buffered until the application reads it. After that the client has to
    # wait.
    unread_bytes: int = 64 * 1024
    # The minimum rate at which a client reads a response.
    response_bytes: int = 8 * 1024
    response_seconds: float = 20.0
    connections: int = 2_000
    connections_per_visitor: int = 200
    # How long, and up to how many bytes, the server keeps reading from a client after the last
    # response, so that the client can read that response. The largest form has 60 MiB.
    linger_seconds: float = 2.0
    linger_bytes: int = 64 * 1024 * 1024
    # The largest number of these clients from which the server reads at a time. Many of them,
    # sending at full speed, would keep the process busy. The others wait for their turn until
    # `linger_seconds` are over.
    lingering: int = 4
    # How often a connection is examined, which is also the greatest delay before a slow client is
    # noticed.
    examine_seconds: float = 1.0


class PausableTransport(Protocol):
    """The network side of one connection."""

    def set_paused(self, is_paused: bool) -> None:  # noqa: FBT001 - a setter
        """Stop or resume reading what the client sends."""


class ConnectionBounds:
    """What all connections of one process share: the limits, the number of connections, and the
    rendering of refusals."""

    def __init__(
        self,
        answer: Callable[[Refusal], RenderedResponse],
        is_proxy: Callable[[str], bool],
        limits: ServerLimits = ServerLimits(),
    ) -> None:
        """`answer` renders a refusal. `is_proxy` returns whether an address belongs to a proxy,
        which many visitors share and which limits their connections itself."""
        self.limits = limits
        self.answer = answer
        self._is_proxy = is_proxy
        self._visitors: Counter[bytes] = Counter()
        self._lingering: set[PausableTransport] = set()
        # The waiting clients, in the order of arrival.
        self._waiting: dict[PausableTransport, None] = {}
        self._total = 0

    def admit(self, host: str) -> Refusal | None:
        """Count a connection from this address. Return the refusal if it is one too many, otherwise
        None."""
        visitor = get_visitor_network(host)
        self._visitors[visitor] += 1
        self._total += 1
        if self._total > self.limits.connections:
            return Unavailable("There are too many connections. Try again in a moment.")
        is_many = self._visitors[visitor] > self.limits.connections_per_visitor
        if is_many and not self._is_proxy(host):
            return RateLimited(
                f"More than {self.limits.connections_per_visitor} connections come from your "
                "address. Close some, or use each for several requests.",
                retry_after=2,
            )
        return None

    def release(self, host: str) -> None:
        """Stop counting a connection from this address."""
        visitor = get_visitor_network(host)
        self._total -= 1
        self._visitors[visitor] -= 1
        if not self._visitors[visitor]:
            del self._visitors[visitor]

    def start_lingering(self, transport: PausableTransport) -> None:
        """Keep reading from a client whose last response was sent, as soon as it is this client's
        turn."""
        self._waiting[transport] = None
        transport.set_paused(True)
        self._resume_waiting_clients()

    def stop_lingering(self, transport: PausableTransport) -> None:
        """Stop reading from the client, and let the next one have its turn."""
        self._lingering.discard(transport)
        self._waiting.pop(transport, None)
        self._resume_waiting_clients()

    def _resume_waiting_clients(self) -> None:
        while self._waiting and len(self._lingering) < self.limits.lingering:
            transport = next(iter(self._waiting))
            del self._waiting[transport]
            self._lingering.add(transport)
            transport.set_paused(False)
