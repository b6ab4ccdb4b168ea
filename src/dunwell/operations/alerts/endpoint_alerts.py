"""Report failing webhook endpoints in the log, in metrics, and by e-mail to their merchants.

Several workers can do this at the same time: the transaction that plans an e-mail also records on
the endpoint what was reported.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import structlog

from dunwell.accounts.installation.alerts.store import NewStaffEmail, save_staff_emails
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.events.webhooks.endpoint import NOTIFY_AFTER, ReportedEndpoint
from dunwell.core.events.webhooks.health.metrics import UndeliveredMetrics, set_failing_endpoints
from dunwell.core.events.webhooks.health.store import (
    count_failing_endpoints,
    list_undelivered_events,
    mark_failures_logged,
    mark_failures_notified,
    mark_recoveries_notified,
)
from dunwell.operations.alerts.alert_emails import render_webhook_email
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

WATCH_SECONDS = 60.0
# How often a failing endpoint is logged.
_LOGGED_EVERY = timedelta(hours=1)
# Rows locked at a time. The next round continues with the rest.
_BATCH_SIZE = 200
# The maximum number of events that are counted for one endpoint. This is enough to show a backlog,
# and counting up to it is quick enough for every minute.
MAX_UNDELIVERED = 10_000

_log = structlog.get_logger(__name__)


class EndpointAlerts:
    """Reports failing webhook endpoints of all merchants, for one worker."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._undelivered_metrics = UndeliveredMetrics()

    async def run_once(self) -> int:
        """Log failing endpoints, notify merchants of failures and recoveries, and update the
        metrics. Return how many endpoints were logged or reported."""
        logged = await self._log_failing()
        notified = await self._notify_merchants()
        await self._update_metrics()
        return logged + notified

    async def _log_failing(self) -> int:
        now = self._resources.clock.now()
        async with self._resources.database.transaction() as tx:
            failing = await mark_failures_logged(tx, now, now - _LOGGED_EVERY, _BATCH_SIZE)
        for each in failing:
            _log.warning(
                "webhook endpoint fails",
                merchant_id=each.merchant_id, endpoint_id=str(each.endpoint_id),
                status=each.status, error=each.error,
            )  # fmt: skip
        return len(failing)

    async def _notify_merchants(self) -> int:
        """Plan e-mails to merchants. Nothing is marked as reported while the installation has no
        delivery provider for e-mail."""
        now = self._resources.clock.now()
        async with self._resources.database.transaction() as tx:
            providers = (await load_installation(tx)).installation.delivery_providers or {}
            if not any(each.channel == "EMAIL" for each in providers.values()):
                return 0
            failing = await mark_failures_notified(tx, now, now - NOTIFY_AFTER, _BATCH_SIZE)
            recovered = await mark_recoveries_notified(tx, _BATCH_SIZE)
            mails = [
                mail
                for endpoints in [*_group_by_merchant(failing), *_group_by_merchant(recovered)]
                if (mail := await self._build_mail(tx, endpoints)) is not None
            ]
            await save_staff_emails(tx, mails, now)
        return len(failing) + len(recovered)

    async def _build_mail(
        self, tx: Connection, endpoints: Sequence[ReportedEndpoint]
    ) -> NewStaffEmail | None:
        """Build the e-mail to the merchant of these endpoints. Return None if the merchant has
        removed its contact address since the failure was reported."""
        merchant = await load_merchant(tx, endpoints[0].merchant_id)
        assert merchant is not None, "a merchant with endpoints is never removed"
        contact = merchant.configuration.contact
        # These e-mails exist in two languages.
        language = "de" if merchant.configuration.language == "de" else "en"
        if contact is None:
            return None
        text = render_webhook_email(endpoints, language, self._resources.settings.public_url)
        email_id = self._resources.ids.new(self._resources.clock.now())
        return NewStaffEmail(email_id, contact.email, *text, language=language)

    async def _update_metrics(self) -> None:
        async with self._resources.database.connection() as connection:
            failing, switched_off = await count_failing_endpoints(connection)
            waiting = await list_undelivered_events(connection, MAX_UNDELIVERED)
        set_failing_endpoints(failing=failing, switched_off=switched_off)
        self._undelivered_metrics.update(waiting, self._resources.clock.now())


def _group_by_merchant(
    endpoints: Sequence[ReportedEndpoint],
) -> Iterator[Sequence[ReportedEndpoint]]:
    """Group the endpoints by merchant, because each merchant is notified only about its own
    endpoints.
    """
    for _, merchant_endpoints in groupby(endpoints, key=lambda each: each.merchant_id):
        yield list(merchant_endpoints)
