"""Send the notifications of the sandbox payment provider.

The worker sends due notifications in batches. One that does not arrive is repeated every 30 seconds
for a day. The module is separate from `provider`, because `dunwell apply` imports the providers and
must not load an HTTP client.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from dunwell.adapters.payments.sandbox.checkout import (
    render_checkout_reference,
    render_notification,
    sign_notification,
)
from dunwell.adapters.payments.sandbox.store import (
    DueCheckoutNotification,
    fail_notification,
    lease_notifications,
    record_notification_arrival,
)
from dunwell.platform.http.client import HttpClient, NoResponse, open_http_client
from dunwell.platform.resources import Resources

NOTIFICATION_SECONDS = 0.5
_BATCH_SIZE = 20
_RETRY_AFTER = timedelta(seconds=30)
_GIVE_UP_AFTER = timedelta(days=1)

log = structlog.get_logger(__name__)


class CheckoutNotificationSender:
    """Sends due notifications with one HTTP client."""

    def __init__(self, resources: Resources, client: HttpClient) -> None:
        self._resources = resources
        self._client = client

    async def run_once(self) -> int:
        """Send one batch of due notifications. Return how many were sent, including those that did
        not arrive."""
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            notifications = await lease_notifications(connection, now, _RETRY_AFTER, _BATCH_SIZE)
        await asyncio.gather(*(self._send(notification) for notification in notifications))
        return len(notifications)

    async def _send(self, notification: DueCheckoutNotification) -> None:
        resources = self._resources
        now = resources.clock.now()
        body = render_notification(
            render_checkout_reference(notification.merchant_id, notification.checkout_id)
        )
        headers = sign_notification(resources.keys, str(resources.ids.new(now)), body, now)
        answer = await self._client.post(notification.notification_url, body, headers)
        has_arrived = not isinstance(answer, NoResponse) and answer.status == 200
        async with resources.database.connection() as connection:
            if has_arrived:
                await record_notification_arrival(connection, notification, now)
                return
            if now >= notification.decided_at + _GIVE_UP_AFTER:
                await fail_notification(connection, notification)
        status = None if isinstance(answer, NoResponse) else answer.status
        log.warning(
            "notification not accepted", merchant_id=notification.merchant_id, status=status
        )


@asynccontextmanager
async def open_notification_sender(
    resources: Resources,
) -> AsyncIterator[CheckoutNotificationSender]:
    """Open a sender. Only the development profile may send to loopback addresses."""
    async with open_http_client(
        allow_loopback=resources.settings.is_development,
        user_agent="Dunwell sandbox payment provider",
    ) as client:
        yield CheckoutNotificationSender(resources, client)
