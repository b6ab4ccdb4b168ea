"""One try: sign an event for an endpoint, post it, and say what came back.

Signed is the stored text itself (Standard Webhooks), by the library receivers verify with. There
is no retrying and no recording here.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from importlib.metadata import version

from standardwebhooks import Webhook

from dunwell.events.endpoint import Endpoint
from dunwell.events.retry import read_retry_after
from dunwell.events.sealing import open_authorization, open_secret
from dunwell.events.store_deliveries import Delivery, Reply
from dunwell.kit.crypto import KeyRing
from dunwell.kit.http import HttpClient, NoAnswer, open_http_client

_TIMEOUT_SECONDS = 15.0
_LONGEST_EXCERPT = 500


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


class WebhookSender:
    """Posts deliveries over one client."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def send(self, seals: Seals, delivery: Delivery, now: datetime) -> Reply:
        """Make one try, begun at `now` in real time; never raises for what the endpoint does."""
        headers = seals.render_headers(delivery, now)
        started = time.monotonic()
        answer = await self._client.post(seals.url, delivery.body.encode(), headers)
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


@asynccontextmanager
async def open_webhook_sender(*, allow_loopback: bool) -> AsyncIterator[WebhookSender]:
    """A sender for a process; loopback addresses are for the development profile alone."""
    async with open_http_client(
        allow_loopback=allow_loopback,
        user_agent=f"Dunwell/{version('dunwell')}",
        timeout_seconds=_TIMEOUT_SECONDS,
    ) as client:
        yield WebhookSender(client)


def _render_excerpt(start: bytes) -> str | None:
    """The beginning of an answer as text that a database and a page can show."""
    if not start:
        return None
    text = start.decode("utf-8", errors="replace")
    shown = "".join(char if char.isprintable() else " " for char in text[:_LONGEST_EXCERPT])
    return shown.strip() or None
