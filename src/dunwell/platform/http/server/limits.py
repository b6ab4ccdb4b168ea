"""What one web process accepts from its clients: numbers, sizes, durations and paces."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dunwell.platform.errors import RateLimited, Refusal, Unavailable
from dunwell.platform.http.addresses import find_network

# A response: its status, its headers and its body.
Words = tuple[int, list[tuple[bytes, bytes]], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How much one process accepts at once, and how slow a client may be.

    A pace is a number of bytes in a number of seconds. It is measured only while the client is the
    one that is waited for; a client below it loses the connection.
    """

    # The first line and all headers of a request.
    head_bytes: int = 64 * 1024
    # From the first byte of a head to its end.
    head_seconds: float = 10.0
    # From the connection, or from the last response, to the first byte of a request.
    idle_seconds: float = 10.0
    # The same once the server has to stop. Longer than the proxy of examples/production keeps a
    # connection unused (5 s), so that this proxy closes it, and never sends a request too late.
    drain_seconds: float = 6.0
    # The pace of a body. 400 bytes a second are slower than any network in use.
    body_bytes: int = 8 * 1024
    body_seconds: float = 20.0
    # All trailers and chunk extensions of a request. Both are ignored, so little is enough.
    trailer_bytes: int = 8 * 1024
    # How much of a body is kept until the application reads it; then the client has to wait.
    unread_bytes: int = 64 * 1024
    # The pace at which a client reads a response.
    response_bytes: int = 8 * 1024
    response_seconds: float = 20.0
    connections: int = 2_000
    connections_per_visitor: int = 200
    # How long, and how much, a client is still listened to after the last response, so that it can
    # read that response. The largest form that a client may be sending has 60 MiB.
    linger_seconds: float = 2.0
    linger_bytes: int = 64 * 1024 * 1024
    # How many clients are listened to so at a time. Many that send on as fast as they can would
    # keep the process busy; the others wait for a place until their time is over.
    lingering: int = 4
    # How often a connection is examined: what is too slow is noticed at most this much later.
    examine_seconds: float = 1.0


class PausableTransport(Protocol):
    """The network side of one connection."""

    def set_paused(self, is_paused: bool) -> None:  # noqa: FBT001 - a setter
        """Leave what the client sends to its own buffers, or read it."""


class ConnectionBounds:
    """What the connections of one process share: their limits, their number, and how a refusal is
    put into words."""

    def __init__(
        self,
        answer: Callable[[Refusal], Words],
        is_proxy: Callable[[str], bool],
        limits: ServerLimits = ServerLimits(),
    ) -> None:
        """answer: renders a refusal. is_proxy: returns whether an address is that of a proxy, which
        many visitors share and which limits their connections itself."""
        self.limits = limits
        self.answer = answer
        self._is_proxy = is_proxy
        self._visitors: Counter[bytes] = Counter()
        self._listened: set[PausableTransport] = set()
        # In the order in which they came.
        self._unheard: dict[PausableTransport, None] = {}
        self._total = 0

    def admit(self, host: str) -> Refusal | None:
        """Count a connection from this address; return why it is one too many, or None."""
        visitor = find_network(host)
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
        visitor = find_network(host)
        self._total -= 1
        self._visitors[visitor] -= 1
        if not self._visitors[visitor]:
            del self._visitors[visitor]

    def listen(self, transport: PausableTransport) -> None:
        """Read on from a client that is only listened to, as soon as there is a place for it."""
        self._unheard[transport] = None
        transport.set_paused(True)
        self._fill_places()

    def stop_listening(self, transport: PausableTransport) -> None:
        """Give the place, or the wait for one, to the next."""
        self._listened.discard(transport)
        self._unheard.pop(transport, None)
        self._fill_places()

    def _fill_places(self) -> None:
        while self._unheard and len(self._listened) < self.limits.lingering:
            transport = next(iter(self._unheard))
            del self._unheard[transport]
            self._listened.add(transport)
            transport.set_paused(False)
