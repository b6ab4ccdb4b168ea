"""One try: sign an event for an endpoint, post it, and say what came back.

Signed is the stored text itself (Standard Webhooks), by the library receivers verify with. There
is no retrying and no recording here.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import TypeAlias

from aiohttp.abc import AbstractResolver
from standardwebhooks import Webhook

from dunwell.accounts.installation.webhook_networks import WebhookReach
from dunwell.core.events.endpoint import Endpoint, is_allowed_scheme
from dunwell.core.events.retry import read_retry_after
from dunwell.core.events.sealing import open_authorization, open_secret
from dunwell.core.events.store_deliveries import Delivery, Reply
from dunwell.platform.crypto import KeyRing
from dunwell.platform.http.addresses import Network
from dunwell.platform.http.client import Answer, HttpClient, NoAnswer, open_http_client

_TIMEOUT_SECONDS = 15.0
_LONGEST_EXCERPT = 500
_USER_AGENT = f"Dunwell/{version('dunwell')}"


class Seals:
    """An endpoint's secrets, opened: what signs its deliveries and what authorises them."""

    def __init__(self, keys: KeyRing, endpoint: Endpoint) -> None:
        """Raises SealBroken."""
        owner = (endpoint.merchant_id, endpoint.endpoint_id)
        self.url = endpoint.url
        self._current = Webhook(open_secret(keys, *owner, endpoint.secret_sealed))
        self._previous: Webhook | None = None
        self._previous_until = endpoint.previous_secret_until
        if endpoint.previous_secret_sealed is not None:
            self._previous = Webhook(open_secret(keys, *owner, endpoint.previous_secret_sealed))
        self._fixed = {"Content-Type": "application/json"}
        if endpoint.authorization_sealed is not None:
            value = open_authorization(keys, *owner, endpoint.authorization_sealed)
            self._fixed["Authorization"] = value

    def render_headers(self, delivery: Delivery, now: datetime) -> dict[str, str]:
        """The headers of a try at this instant; two signatures while a secret is rotated."""
        event_id = str(delivery.event_id)
        signature = self._current.sign(event_id, now, delivery.body)
        until = self._previous_until
        if self._previous is not None and until is not None and now < until:
            signature += " " + self._previous.sign(event_id, now, delivery.body)
        return {
            **self._fixed,
            "webhook-id": event_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
            "Dunwell-Sequence": str(delivery.sequence),
        }


OpenPrivate: TypeAlias = Callable[[tuple[Network, ...]], AbstractAsyncContextManager[HttpClient]]


class WebhookSender:
    """Posts deliveries: to public addresses over one client, and into each set of networks that
    the installation file names over a client that reaches nothing else."""

    def __init__(
        self, public: HttpClient, opened: AsyncExitStack, open_private: OpenPrivate, *,
        allow_loopback: bool,
    ) -> None:  # fmt: skip
        """opened: closes the clients that `open_private` opens later, for networks."""
        self._public = public
        self._opened = opened
        self._open_private = open_private
        self._opening = asyncio.Lock()
        self._private: dict[tuple[Network, ...], HttpClient] = {}
        self._allow_loopback = allow_loopback

    async def send(
        self, seals: Seals, delivery: Delivery, now: datetime, reach: WebhookReach
    ) -> Reply:
        """Make one try, begun at `now` in real time; never raises for what the endpoint does."""
        headers = seals.render_headers(delivery, now)
        started = time.monotonic()
        answer = await self._post(seals.url, delivery.body.encode(), headers, reach)
        duration = timedelta(seconds=time.monotonic() - started)
        if isinstance(answer, NoAnswer):
            return Reply(
                status=None, error=answer.reason, answer=None, wish=None, duration=duration
            )
        wish = read_retry_after(answer.headers.get("Retry-After"), now + duration)
        return Reply(
            status=answer.status,
            error=None,
            answer=_render_excerpt(answer.start),
            wish=wish,
            duration=duration,
        )

    async def _post(
        self, url: str, body: bytes, headers: dict[str, str], reach: WebhookReach
    ) -> Answer | NoAnswer:
        if not is_allowed_scheme(url, reach, is_development=self._allow_loopback):
            return NoAnswer("https is required", may_have_left=False)
        client = await self._find_client(reach.networks) if reach.networks else self._public
        return await client.post(url, body, headers)

    async def _find_client(self, networks: tuple[Network, ...]) -> HttpClient:
        """It keeps no connection open: each address is checked as its connection is made."""
        async with self._opening:
            if networks not in self._private:
                self._private[networks] = await self._opened.enter_async_context(
                    self._open_private(networks)
                )
            return self._private[networks]


@asynccontextmanager
async def open_webhook_sender(
    *, allow_loopback: bool, authorities: str | None = None,
    resolver: AbstractResolver | None = None,
) -> AsyncIterator[WebhookSender]:  # fmt: skip
    """A sender for a process; loopback addresses are for the development profile alone.

    authorities: certificates, in PEM, that are trusted beside the public ones in networks that the
    installation file names, and nowhere else. resolver: what names are looked up with, instead of
    the system.
    """

    def open_private(networks: tuple[Network, ...]) -> AbstractAsyncContextManager[HttpClient]:
        return open_http_client(
            allow_loopback=False,
            user_agent=_USER_AGENT,
            timeout_seconds=_TIMEOUT_SECONDS,
            resolver=resolver,
            networks=networks,
            authorities=authorities,
            keeps_connections=False,
        )

    async with AsyncExitStack() as opened:
        public = await opened.enter_async_context(
            open_http_client(
                allow_loopback=allow_loopback,
                user_agent=_USER_AGENT,
                timeout_seconds=_TIMEOUT_SECONDS,
                resolver=resolver,
            )
        )
        yield WebhookSender(public, opened, open_private, allow_loopback=allow_loopback)


def _render_excerpt(start: bytes) -> str | None:
    """The beginning of an answer as text that a database and a page can show."""
    if not start:
        return None
    text = start.decode("utf-8", errors="replace")
    shown = "".join(char if char.isprintable() else " " for char in text[:_LONGEST_EXCERPT])
    return shown.strip() or None
