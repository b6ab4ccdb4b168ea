"""What is seen of an installation at one instant, and which of it is a sign that a person is
needed. Pure.
"""

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


class OfLine(msgspec.Struct, frozen=True, gc=False):
    line: str
    count: int
    since: datetime


class OfMerchant(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    count: int
    since: datetime


class Seen(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What there is at one instant, as far as it is old enough."""

    waiting: Sequence[OfLine]
    batches: Sequence[OfLine]
    # When each line's mailbox was read last.
    mailboxes: Sequence[tuple[str, datetime]]
    unknown: Sequence[OfMerchant]
    overdue: Sequence[OfMerchant]
    unseen: Sequence[OfMerchant]
    off: Sequence[OfMerchant]
    failing: Sequence[OfMerchant]
    strange_sms: Sequence[OfLine]
    strange_reports: Sequence[OfLine]
    # The first step that is late; none: none is.
    step_due_at: datetime | None


# A domain of so few people could tell who they are.
_LEAST_PEOPLE = 3


@dataclass(frozen=True, slots=True)
class Outside:
    """What is not of the database: lines that cannot be used, and the archive."""

    unusable: Collection[str] = ()
    is_archive_behind: bool = False


@dataclass(frozen=True, slots=True)
class LineFigures:
    """Of the last day."""

    sent: Mapping[str, ArrivalFigures]
    deliveries: Sequence[DestinationFigures]


def find_signs(
    alarms: AlertSettings, lines: Mapping[str, DeliveryProvider], seen: Seen, figures: LineFigures,
    outside: Outside,
    *, now: datetime,
) -> list[AlertCondition]:  # fmt: skip
    signs = [
        *_judge_lines(alarms, lines, seen, now),
        *_judge_figures(alarms, figures),
        *_judge_strangers(alarms, seen),
        *_of_merchants(AlertKind.UNKNOWN_SENDS, seen.unknown),
        *_of_merchants(AlertKind.OVERDUE_DISPUTES, seen.overdue),
        *_of_merchants(AlertKind.UNSEEN_REPLIES, seen.unseen),
        *_of_merchants(AlertKind.WEBHOOKS_OFF, seen.off),
        *_of_merchants(AlertKind.WEBHOOKS_FAILING, seen.failing),
    ]
    signs += [AlertCondition(AlertKind.LINE_UNUSABLE, name) for name in sorted(outside.unusable)]
    if seen.step_due_at is not None:
        signs.append(AlertCondition(AlertKind.STEPS_LATE, "", AlertFigures(since=seen.step_due_at)))
    if outside.is_archive_behind:
        signs.append(AlertCondition(AlertKind.ARCHIVE_BEHIND, ""))
    return signs


def _judge_lines(
    alarms: AlertSettings, lines: Mapping[str, DeliveryProvider], seen: Seen, now: datetime
) -> Iterator[AlertCondition]:
    late = timedelta(minutes=alarms.late_after_minutes)
    for each in seen.waiting:
        figures = AlertFigures(count=each.count, since=each.since)
        yield AlertCondition(AlertKind.LINE_BACKLOG, each.line, figures)
    for each in seen.batches:
        line = lines.get(each.line)
        usual = line.batch.every_minutes if isinstance(line, FolderProvider | SftpProvider) else 0
        if now - each.since >= late + timedelta(minutes=usual):
            figures = AlertFigures(count=each.count, since=each.since)
            yield AlertCondition(AlertKind.BATCH_LATE, each.line, figures)
    for name, read_at in seen.mailboxes:
        line = lines.get(name)
        is_read = isinstance(line, SmtpProvider) and line.mailbox is not None
        if is_read and now - read_at >= late:
            yield AlertCondition(AlertKind.MAILBOX_LATE, name, AlertFigures(since=read_at))


def _judge_figures(alarms: AlertSettings, figures: LineFigures) -> Iterator[AlertCondition]:
    for name, sent in figures.sent.items():
        if alarms.failing.is_reached(sent=sent.sent, failed=sent.failed):
            yield AlertCondition(
                AlertKind.LINE_FAILING, name, AlertFigures(count=sent.failed, among=sent.sent)
            )
    for each in figures.deliveries:
        sent = each.sent
        is_reached = alarms.failing.is_reached(sent=sent.sent, failed=sent.failed)
        if is_reached and each.destination is not None and each.people >= _LEAST_PEOPLE:
            told = AlertFigures(count=sent.failed, among=sent.sent)
            yield AlertCondition(
                AlertKind.DESTINATION_FAILING, f"{each.line}/{each.destination}", told
            )


def _judge_strangers(alarms: AlertSettings, seen: Seen) -> Iterator[AlertCondition]:
    for each in seen.strange_reports:
        if each.count >= alarms.failing.least:
            figures = AlertFigures(count=each.count, since=each.since)
            yield AlertCondition(AlertKind.UNMATCHED_REPORTS, each.line, figures)
    for each in seen.strange_sms:
        yield AlertCondition(
            AlertKind.UNMATCHED_SMS, each.line, AlertFigures(count=each.count, since=each.since)
        )


def _of_merchants(kind: AlertKind, found: Sequence[OfMerchant]) -> Iterator[AlertCondition]:
    for each in found:
        figures = AlertFigures(count=each.count, since=each.since, merchant=each.key)
        yield AlertCondition(kind, str(each.merchant_id), figures)
