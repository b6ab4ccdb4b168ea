"""Check once a minute for conditions on which a person has to act; begin, renew and end alerts;
load the active alerts for staff."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from dunwell.accounts.installation.alerts.alert import (
    Alert,
    AlertCondition,
    AlertFigures,
    AlertKind,
    AlertSettings,
    compare_alerts,
    decide_phase,
)
from dunwell.accounts.installation.alerts.store import (
    NewStaffEmail,
    list_active_alerts,
    list_reportable_alerts,
    save_alert_changes,
    save_condition,
    save_staff_emails,
    sweep_alerts,
)
from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.adapters import FindProvider
from dunwell.operations.alerts.alert_conditions import (
    ExternalFindings,
    ProviderFigures,
    list_alert_conditions,
)
from dunwell.operations.alerts.alert_emails import AlertNotification, render_alert_email
from dunwell.operations.alerts.store import (
    find_last_check,
    insert_notifications,
    load_observations,
    lock_alert_check,
)
from dunwell.operations.dashboards.store import (
    ContactSelection,
    count_arrivals,
    count_arrivals_by_destination,
)
from dunwell.operations.recovery.archive import check_archive
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import WatchedClock

CHECK_SECONDS = 60.0
# Less than CHECK_SECONDS, so that one of several workers checks in each minute, and only one.
_MIN_INTERVAL = timedelta(seconds=45)
_DAY = timedelta(days=1)
ALERTS_KEPT_FOR = timedelta(days=90)
_MAX_SENT, _MAX_DELIVERIES, _MAX_REPORTED, _SWEPT_AT_ONCE = 10_001, 100, 100, 500


async def check_for_alerts(
    resources: Resources, find_provider: FindProvider, database_url: str
) -> int:
    """Check all conditions, update the alerts, and plan e-mails about them. Return the number of
    alerts that are reported, or 0 if another worker has just checked."""
    is_behind = await _is_archive_behind(resources, database_url)
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        if not await lock_alert_check(tx, now, now - _MIN_INTERVAL):
            return 0
        installation = (await load_installation(tx)).installation
        alert_settings, providers = (
            installation.alerts or AlertSettings(),
            installation.delivery_providers or {},
        )
        outside = ExternalFindings(_list_unusable_providers(providers, find_provider), is_behind)
        conditions = await _load_conditions(tx, alert_settings, providers, outside, now=now)
        changes = compare_alerts(await list_active_alerts(tx), conditions, now)
        await save_alert_changes(tx, changes, now, resources.ids)
        reported = (
            await _plan_emails(tx, resources, alert_settings, now) if alert_settings.email else 0
        )
        await sweep_alerts(tx, now - ALERTS_KEPT_FOR, _SWEPT_AT_ONCE)
    return reported


async def _load_conditions(
    tx: Connection,
    alert_settings: AlertSettings,
    providers: Mapping[str, DeliveryProvider],
    outside: ExternalFindings,
    *,
    now: datetime,
) -> list[AlertCondition]:
    selection = ContactSelection(list(providers), now - _DAY, _MAX_SENT)
    figures = ProviderFigures(
        await count_arrivals(tx, selection),
        await count_arrivals_by_destination(tx, selection, _MAX_DELIVERIES),
    )
    observations = await load_observations(
        tx, now,
        late_before=now - timedelta(minutes=alert_settings.late_after_minutes),
        unseen_before=now - timedelta(minutes=alert_settings.unseen_after_minutes),
        unmatched_since=now - _DAY,
    )  # fmt: skip
    return list_alert_conditions(
        alert_settings,
        providers,
        observations=observations,
        figures=figures,
        outside=outside,
        now=now,
    )


async def _plan_emails(
    tx: Connection, resources: Resources, alert_settings: AlertSettings, now: datetime
) -> int:
    """Plan one e-mail to each recipient with all alerts that are due to be reported."""
    again_after = timedelta(hours=alert_settings.again_after_hours)
    notifications: list[AlertNotification] = []
    for alert in await list_reportable_alerts(tx, now - ALERTS_KEPT_FOR, _MAX_REPORTED):
        phase = decide_phase(alert, now, again_after)
        if phase is not None:
            notifications.append(AlertNotification(alert, phase))
    if not notifications:
        return 0
    await insert_notifications(tx, notifications, now)
    text = render_alert_email(notifications, alert_settings, resources.settings.public_url)
    mails = [
        NewStaffEmail(resources.ids.new(now), each, *text, alert_settings.language)
        for each in alert_settings.email
    ]
    await save_staff_emails(tx, mails, now)
    return len(notifications)


def _list_unusable_providers(
    providers: Mapping[str, DeliveryProvider], find_provider: FindProvider
) -> Collection[str]:
    """Return the providers for which no adapter can be built, for example because a secret is
    missing."""
    return [name for name in providers if find_provider(name) is None]


async def _is_archive_behind(resources: Resources, database_url: str) -> bool:
    description_and_remedy = await check_archive(resources.settings.archive_dir, database_url)
    return description_and_remedy is not None and description_and_remedy[1] is not None


# Checks run every minute. If none ran for this time, checking does not work.
STALE_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AlertOverview:
    """The active alerts, and whether checks are running."""

    # Oldest first.
    active: Sequence[Alert]
    # When alerts were last checked. None if they never were.
    last_checked_at: datetime | None
    # True if no worker has checked for a while.
    is_stale: bool
    # True if the installation file names addresses that receive alert e-mails.
    has_recipients: bool


async def load_alert_overview(tx: Connection, actor: Actor, now: datetime) -> AlertOverview:
    """Return the active alerts over all merchants. `now` is real time."""
    check_right(actor, Right.OPERATE)
    last_checked_at = await find_last_check(tx)
    installation = (await load_installation(tx)).installation
    return AlertOverview(
        active=await list_active_alerts(tx),
        last_checked_at=last_checked_at,
        is_stale=last_checked_at is None or now - last_checked_at >= STALE_AFTER,
        has_recipients=bool((installation.alerts or AlertSettings()).email),
    )


# Must be shorter than the time after which an alert that is not renewed ends.
_REPORT_SECONDS = 30.0

log = structlog.get_logger(__name__)


async def raise_clock_alert(resources: Resources, host: str) -> bool:
    """Begin or renew the alert if the clocks differed at the last comparison. Return whether they
    differed. `host` is the name of this machine."""
    clock = resources.clock
    comparison = clock.comparison if isinstance(clock, WatchedClock) else None
    if comparison is None or not comparison.is_beyond_warning:
        return False
    figures = AlertFigures(host_clock=comparison.host, database_clock=comparison.database)
    async with resources.database.transaction() as tx:
        now = await tx.fetchval("SELECT clock_timestamp()")
        await save_condition(
            tx, AlertCondition(AlertKind.CLOCKS_APART, host, figures), now, resources.ids
        )
    return True


@asynccontextmanager
async def report_clock_difference(resources: Resources, host: str) -> AsyncIterator[None]:
    """Report a clock difference repeatedly until the block ends."""
    task = asyncio.create_task(_report_repeatedly(resources, host))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _report_repeatedly(resources: Resources, host: str) -> None:
    while True:
        try:
            await raise_clock_alert(resources, host)
        except Exception:  # The next round tries again, whatever the error was.
            log.exception("clock difference not reported", once_a_minute=True)
        await asyncio.sleep(_REPORT_SECONDS)
