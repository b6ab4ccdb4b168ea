"""What the adapters of SMS gateways share."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_network
from typing import Literal

import structlog

from dunwell.contact.sending.channel import Temporary
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.http.client import HttpClient, HttpResponse, NoAnswer, open_http_client


class Forged(InvalidRequest):
    """Not from the gateway of this line, as far as can be told."""


def read_text(text: str, most: int) -> str:
    """What can be kept of it, without control characters."""
    kept = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    return kept[:most]


USER_AGENT = "Dunwell-Channels/1"
# Less than the caller allows.
_SECONDS = 45.0
# How long a message waits for a connection: with the call less than the caller allows.
_TURN_SECONDS = 10.0
# The gateway does not listen, for the moment.
AWAY = Temporary(reason="The gateway was not reached.")
# It is there and does not want us: an operator has to look.
REFUSED = Temporary(300, "The gateway refuses the line's credentials or configuration.")
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")
# A number, short or long, or a name of what fits beside a message. What is longer, gateways drop
# behind their acceptance.
_SENDER = re.compile(r"\+?[0-9]{3,15}|[ -~]{1,11}")

log = structlog.get_logger(__name__)


# What is wrong with a line, for its operator.
Trouble = Literal["NOT_REACHED", "REFUSED", "OTHER_ANSWER"]


class UnclearAnswer(Exception):  # noqa: N818 - reads as what happened
    """The gateway may have taken the message."""


class Gateway:
    """One line's. networks: the only ones it may lie in; none: anywhere public. connections: that
    it is given at a time."""

    def __init__(
        self, line: str, networks: Sequence[str], *, connections: int,
        turn_seconds: float = _TURN_SECONDS,
    ) -> None:  # fmt: skip
        self._line = line
        self._turn_seconds = turn_seconds
        self._slots = asyncio.Semaphore(connections)
        self._networks = [ip_network(network) for network in networks]
        self._opening = asyncio.Lock()
        self._open = AsyncExitStack()
        self._client: HttpClient | None = None

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> HttpResponse | Temporary:
        """Temporary: it was not reached. Raises UnclearAnswer."""
        client = await self._find_client()
        try:
            await asyncio.wait_for(self._slots.acquire(), self._turn_seconds)
        except TimeoutError:
            return AWAY
        try:
            answer = await client.post_once(url, body, headers)
        finally:
            self._slots.release()
        if isinstance(answer, HttpResponse):
            return answer
        return self._judge(answer)

    async def probe(
        self, url: str, body: bytes, headers: Mapping[str, str], *, welcome: int
    ) -> Trouble | None:
        """Post what cannot become a message. welcome: how it answers those who may send."""
        try:
            answer = await self.post(url, body, headers)
        except UnclearAnswer:
            return "NOT_REACHED"
        if isinstance(answer, Temporary):
            return "NOT_REACHED"
        if answer.status in (401, 403):
            return "REFUSED"
        return None if answer.status == welcome else "OTHER_ANSWER"

    def _judge(self, answer: NoAnswer) -> Temporary:
        if answer.may_have_left:
            raise UnclearAnswer(answer.reason)
        log.warning("gateway not reached", line=self._line, reason=answer.reason)
        return AWAY

    def tell_refusal(self, status: int) -> Temporary:
        """Our credentials or our configuration are wrong: nobody else is to blame."""
        log.error("gateway refuses us", line=self._line, status=status)
        return REFUSED

    async def _find_client(self) -> HttpClient:
        async with self._opening:
            if self._client is None:
                self._client = await self._open.enter_async_context(
                    open_http_client(
                        allow_loopback=False, user_agent=USER_AGENT, timeout_seconds=_SECONDS,
                        networks=self._networks, keeps_connections=False,
                    )
                )  # fmt: skip
            return self._client

    async def close(self) -> None:
        await self._open.aclose()


def is_number(text: str) -> bool:
    """Whether it is one in international format."""
    return _NUMBER.fullmatch(text) is not None


def is_sender(text: str) -> bool:
    """Whether an SMS can come from it."""
    return _SENDER.fullmatch(text) is not None
