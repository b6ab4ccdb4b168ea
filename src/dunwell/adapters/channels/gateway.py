"""What the adapters of SMS gateways share: posting a message, and deciding whether a message may
have been sent although the request failed.

A message must not be sent twice. Each is therefore posted once, over a new connection.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_network
from typing import Literal

import structlog

from dunwell.contact.sending.channel import Temporary
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client


class ForgedRequest(InvalidRequest):
    """The request is not authenticated as a request of the delivery provider's gateway."""


def clean_text(text: str, max_length: int) -> str:
    """Return the text without control characters except line feeds and tabs, cut to `max_length`
    characters."""
    kept = "".join(
        character for character in text if character.isprintable() or character in "\n\t"
    )
    return kept[:max_length]


USER_AGENT = "Dunwell-Channels/1"
# Shorter than the timeout of the caller.
_REQUEST_SECONDS = 45.0
# How long a message waits for a connection. Together with the request this is shorter than the
# timeout of the caller.
_CONNECTION_WAIT_SECONDS = 10.0
# The gateway cannot be reached at the moment.
NOT_REACHED = Temporary(reason="The gateway could not be reached.")
# The gateway responds but refuses. An operator has to resolve this.
REFUSED = Temporary(300, "The gateway refuses the credentials or the configuration.")
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")
# A number, short or long, or a name. Gateways accept a longer name and then drop the message.
_SENDER = re.compile(r"\+?[0-9]{3,15}|[ -~]{1,11}")

log = structlog.get_logger(__name__)


# What is wrong with a delivery provider, for its operator.
GatewayProblem = Literal["NOT_REACHED", "REFUSED", "OTHER_ANSWER"]


class UnclearResponse(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The gateway may have accepted the message."""


class Gateway:
    """The gateway of one delivery provider. `networks` are the only networks in which it may be;
    without any, it may have any public address. `connections` is the largest number of simultaneous
    connections."""

    def __init__(
        self, provider: str, networks: Sequence[str], *, connections: int,
        wait_seconds: float = _CONNECTION_WAIT_SECONDS,
    ) -> None:  # fmt: skip
        self._provider = provider
        self._wait_seconds = wait_seconds
        self._slots = asyncio.Semaphore(connections)
        self._networks = [ip_network(network) for network in networks]
        self._open_lock = asyncio.Lock()
        self._exit_stack = AsyncExitStack()
        self._client: HttpClient | None = None

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> HttpResponse | Temporary:
        """Post a request. Return Temporary if the gateway was not reached. Raises
        UnclearResponse.
        """
        client = await self._get_client()
        try:
            await asyncio.wait_for(self._slots.acquire(), self._wait_seconds)
        except TimeoutError:
            return NOT_REACHED
        try:
            answer = await client.post_once(url, body, headers)
        finally:
            self._slots.release()
        if isinstance(answer, HttpResponse):
            return answer
        return self._interpret_failure(answer)

    async def probe(
        self, url: str, body: bytes, headers: Mapping[str, str], *, expected_status: int
    ) -> GatewayProblem | None:
        """Test the gateway with a request that cannot become a message, and return what is wrong,
        or None. `expected_status` is the status with which the gateway responds to an authorised
        client."""
        try:
            answer = await self.post(url, body, headers)
        except UnclearResponse:
            return "NOT_REACHED"
        if isinstance(answer, Temporary):
            return "NOT_REACHED"
        if answer.status in (401, 403):
            return "REFUSED"
        return None if answer.status == expected_status else "OTHER_ANSWER"

    def _interpret_failure(self, answer: NoResponse) -> Temporary:
        if answer.may_have_arrived:
            raise UnclearResponse(answer.reason)
        log.warning("gateway not reached", provider=self._provider, reason=answer.reason)
        return NOT_REACHED

    def log_refusal(self, status: int) -> Temporary:
        """Log that the gateway refuses our credentials or configuration, which is not the
        recipient's fault, and return the outcome."""
        log.error("gateway rejected credentials", provider=self._provider, status=status)
        return REFUSED

    async def _get_client(self) -> HttpClient:
        async with self._open_lock:
            if self._client is None:
                self._client = await self._exit_stack.enter_async_context(
                    open_http_client(
                        allow_loopback=False, user_agent=USER_AGENT,
                        timeout_seconds=_REQUEST_SECONDS,
                        networks=self._networks, keeps_connections=False,
                    )
                )  # fmt: skip
            return self._client

    async def close(self) -> None:
        await self._exit_stack.aclose()


def is_phone_number(text: str) -> bool:
    """Return whether this is a phone number in international format."""
    return _NUMBER.fullmatch(text) is not None


def is_sms_sender(text: str) -> bool:
    """Return whether this can be the sender of an SMS."""
    return _SENDER.fullmatch(text) is not None
