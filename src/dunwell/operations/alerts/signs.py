"""What is seen of an installation at one instant, and which of it is a sign that a person is
needed. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from dunwell.accounts.installation.alerts.alert import Figures, Kind, Sign
from dunwell.accounts.installation.alerts.alert_settings import Alarms
from dunwell.accounts.installation.delivery_providers import FolderLine, Line, SftpLine, SmtpLine
from dunwell.operations.explanation.deliveries.figures import Delivery, Sent


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

    sent: Mapping[str, Sent]
    deliveries: Sequence[Delivery]


def find_signs(
    alarms: Alarms, lines: Mapping[str, Line], seen: Seen, figures: LineFigures, outside: Outside,
    *, now: datetime,
) -> list[Sign]:  # fmt: skip
    signs = [
        *_judge_lines(alarms, lines, seen, now),
        *_judge_figures(alarms, figures),
        *_judge_strangers(alarms, seen),
        *_of_merchants(Kind.UNKNOWN_SENDS, seen.unknown),
        *_of_merchants(Kind.OVERDUE_DISPUTES, seen.overdue),
        *_of_merchants(Kind.UNSEEN_REPLIES, seen.unseen),
        *_of_merchants(Kind.WEBHOOKS_OFF, seen.off),
        *_of_merchants(Kind.WEBHOOKS_FAILING, seen.failing),
    ]
    signs += [Sign(Kind.LINE_UNUSABLE, name) for name in sorted(outside.unusable)]
    if seen.step_due_at is not None:
        signs.append(Sign(Kind.STEPS_LATE, "", Figures(since=seen.step_due_at)))
    if outside.is_archive_behind:
        signs.append(Sign(Kind.ARCHIVE_BEHIND, ""))
    return signs


def _judge_lines(
    alarms: Alarms, lines: Mapping[str, Line], seen: Seen, now: datetime
) -> Iterator[Sign]:
    late = timedelta(minutes=alarms.late_after_minutes)
    for each in seen.waiting:
        figures = Figures(count=each.count, since=each.since)
        yield Sign(Kind.LINE_BACKLOG, each.line, figures)
    for each in seen.batches:
        line = lines.get(each.line)
        usual = line.batch.every_minutes if isinstance(line, FolderLine | SftpLine) else 0
        if now - each.since >= late + timedelta(minutes=usual):
            figures = Figures(count=each.count, since=each.since)
            yield Sign(Kind.BATCH_LATE, each.line, figures)
    for name, read_at in seen.mailboxes:
        line = lines.get(name)
        is_read = isinstance(line, SmtpLine) and line.mailbox is not None
        if is_read and now - read_at >= late:
            yield Sign(Kind.MAILBOX_LATE, name, Figures(since=read_at))


def _judge_figures(alarms: Alarms, figures: LineFigures) -> Iterator[Sign]:
    for name, sent in figures.sent.items():
        if alarms.failing.is_reached(sent=sent.sent, failed=sent.failed):
            yield Sign(Kind.LINE_FAILING, name, Figures(count=sent.failed, among=sent.sent))
    for each in figures.deliveries:
        sent = each.sent
        is_reached = alarms.failing.is_reached(sent=sent.sent, failed=sent.failed)
        if is_reached and each.destination is not None and each.people >= _LEAST_PEOPLE:
            told = Figures(count=sent.failed, among=sent.sent)
            yield Sign(Kind.DESTINATION_FAILING, f"{each.line}/{each.destination}", told)


def _judge_strangers(alarms: Alarms, seen: Seen) -> Iterator[Sign]:
    for each in seen.strange_reports:
        if each.count >= alarms.failing.least:
            figures = Figures(count=each.count, since=each.since)
            yield Sign(Kind.UNMATCHED_REPORTS, each.line, figures)
    for each in seen.strange_sms:
        yield Sign(Kind.UNMATCHED_SMS, each.line, Figures(count=each.count, since=each.since))


def _of_merchants(kind: Kind, found: Sequence[OfMerchant]) -> Iterator[Sign]:
    for each in found:
        figures = Figures(count=each.count, since=each.since, merchant=each.key)
        yield Sign(kind, str(each.merchant_id), figures)
