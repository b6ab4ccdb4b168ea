"""Decide which observations of the installation are conditions on which a person has to act.
Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from dunwell.accounts.installation.alerts.alert import (
    AlertCondition,
    AlertFigures,
    AlertKind,
    AlertSettings,
)
from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    FolderProvider,
    SftpProvider,
    SmtpProvider,
)
from dunwell.operations.dashboards.figures import ArrivalFigures, DestinationFigures


class ProviderCount(msgspec.Struct, frozen=True, gc=False):
    provider: str
    count: int
    since: datetime


class MerchantCount(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    count: int
    since: datetime


class Observations(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was observed at one instant. Work is counted only if it has waited long enough to be
    reported. Batches and mailboxes are exceptions: `list_alert_conditions` decides which of them
    are late."""

    # Unsent messages, and letters that wait for a print batch.
    waiting: Sequence[ProviderCount]
    batches: Sequence[ProviderCount]
    # When the mailbox of each delivery provider was last read.
    mailboxes: Sequence[tuple[str, datetime]]
    # Messages with an unknown delivery status.
    unknown: Sequence[MerchantCount]
    # Disputes whose response is overdue.
    overdue: Sequence[MerchantCount]
    # Unread replies of debtors.
    unseen: Sequence[MerchantCount]
    # Disabled webhook endpoints, and those that fail.
    off: Sequence[MerchantCount]
    failing: Sequence[MerchantCount]
    unmatched_sms: Sequence[ProviderCount]
    unmatched_reports: Sequence[ProviderCount]
    # When the oldest late step fell due. None if no step is late.
    step_due_at: datetime | None


# A destination is not named if messages to fewer people failed, because the name could identify a
# person.
_MIN_AFFECTED_PEOPLE = 3


@dataclass(frozen=True, slots=True)
class ExternalFindings:
    """Findings from outside the database: unusable delivery providers, and the state of the
    archive."""

    unusable: Collection[str] = ()
    is_archive_behind: bool = False


@dataclass(frozen=True, slots=True)
class ProviderFigures:
    """Delivery figures of the last day."""

    sent: Mapping[str, ArrivalFigures]
    deliveries: Sequence[DestinationFigures]


def list_alert_conditions(
    settings: AlertSettings, providers: Mapping[str, DeliveryProvider], observations: Observations,
    figures: ProviderFigures,
    outside: ExternalFindings,
    *, now: datetime,
) -> list[AlertCondition]:  # fmt: skip
    """Return every condition that requires an alert now."""
    conditions = [
        *_find_provider_conditions(settings, providers, observations, now),
        *_find_failure_rate_conditions(settings, figures),
        *_find_unmatched_conditions(settings, observations),
        *_build_merchant_conditions(AlertKind.UNKNOWN_SENDS, observations.unknown),
        *_build_merchant_conditions(AlertKind.OVERDUE_DISPUTES, observations.overdue),
        *_build_merchant_conditions(AlertKind.UNSEEN_REPLIES, observations.unseen),
        *_build_merchant_conditions(AlertKind.WEBHOOKS_OFF, observations.off),
        *_build_merchant_conditions(AlertKind.WEBHOOKS_FAILING, observations.failing),
    ]
    conditions += [
        AlertCondition(AlertKind.PROVIDER_UNUSABLE, name) for name in sorted(outside.unusable)
    ]
    if observations.step_due_at is not None:
        conditions.append(
            AlertCondition(AlertKind.STEPS_LATE, "", AlertFigures(since=observations.step_due_at))
        )
    if outside.is_archive_behind:
        conditions.append(AlertCondition(AlertKind.ARCHIVE_BEHIND, ""))
    return conditions


def _find_provider_conditions(
    settings: AlertSettings,
    providers: Mapping[str, DeliveryProvider],
    observations: Observations,
    now: datetime,
) -> Iterator[AlertCondition]:
    late_after = timedelta(minutes=settings.late_after_minutes)
    for each in observations.waiting:
        figures = AlertFigures(count=each.count, since=each.since)
        yield AlertCondition(AlertKind.PROVIDER_BACKLOG, each.provider, figures)
    for each in observations.batches:
        provider = providers.get(each.provider)
        batch_interval_minutes = (
            provider.batch.every_minutes
            if isinstance(provider, FolderProvider | SftpProvider)
            else 0
        )
        if now - each.since >= late_after + timedelta(minutes=batch_interval_minutes):
            figures = AlertFigures(count=each.count, since=each.since)
            yield AlertCondition(AlertKind.BATCH_LATE, each.provider, figures)
    for name, read_at in observations.mailboxes:
        provider = providers.get(name)
        is_read = isinstance(provider, SmtpProvider) and provider.mailbox is not None
        if is_read and now - read_at >= late_after:
            yield AlertCondition(AlertKind.MAILBOX_LATE, name, AlertFigures(since=read_at))


def _find_failure_rate_conditions(
    settings: AlertSettings, figures: ProviderFigures
) -> Iterator[AlertCondition]:
    for name, sent in figures.sent.items():
        if settings.failing.is_reached(sent=sent.sent, failed=sent.failed):
            yield AlertCondition(
                AlertKind.PROVIDER_FAILING, name, AlertFigures(count=sent.failed, among=sent.sent)
            )
    for each in figures.deliveries:
        sent = each.sent
        is_reached = settings.failing.is_reached(sent=sent.sent, failed=sent.failed)
        if is_reached and each.destination is not None and each.people >= _MIN_AFFECTED_PEOPLE:
            shown = AlertFigures(count=sent.failed, among=sent.sent)
            yield AlertCondition(
                AlertKind.DESTINATION_FAILING, f"{each.provider}/{each.destination}", shown
            )


def _find_unmatched_conditions(
    settings: AlertSettings, observations: Observations
) -> Iterator[AlertCondition]:
    for each in observations.unmatched_reports:
        if each.count >= settings.failing.least:
            figures = AlertFigures(count=each.count, since=each.since)
            yield AlertCondition(AlertKind.UNMATCHED_REPORTS, each.provider, figures)
    for each in observations.unmatched_sms:
        yield AlertCondition(
            AlertKind.UNMATCHED_SMS, each.provider, AlertFigures(count=each.count, since=each.since)
        )


def _build_merchant_conditions(
    kind: AlertKind, counts: Sequence[MerchantCount]
) -> Iterator[AlertCondition]:
    for each in counts:
        figures = AlertFigures(count=each.count, since=each.since, merchant=each.key)
        yield AlertCondition(kind, str(each.merchant_id), figures)
