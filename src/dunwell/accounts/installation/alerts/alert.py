"""The kinds of alerts, when one begins and ends, when it is reported, and the settings of the
installation file that say to whom. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    DeliveryProviderName,
    ProviderPart,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.texts import is_email_address

Address = Annotated[str, Meta(min_length=3, max_length=254)]
Minutes = Annotated[int, Meta(ge=5, le=10_080)]


class FailureThreshold(ProviderPart, frozen=True):
    """From when on a line, or a receiving domain, loses too much: both have to be reached, of what
    was sent in a day."""

    percent: Annotated[float, Meta(gt=0, le=100)] = 5.0
    least: Annotated[int, Meta(ge=3, le=100_000)] = 10

    def is_reached(self, *, sent: int, failed: int) -> bool:
        """sent: all that were given to the line, those that failed among them."""
        return failed >= self.least and failed * 100 >= sent * self.percent


class AlertSettings(ProviderPart, frozen=True):
    """Nobody in `email`: alarms stand in the portal alone."""

    email: Annotated[list[Address], Meta(max_length=20)] = field(default_factory=list)
    # A line for e-mail; none: the first one that works.
    provider: DeliveryProviderName | None = None
    # The sender; none: the operator's contact, else the first of `email`.
    sender: Address | None = field(default=None, name="from")
    language: Literal["en", "de"] = "en"
    # Told again while it lasts.
    again_after_hours: Annotated[int, Meta(ge=1, le=168)] = 24
    # What waits so long to leave, to be worked on or to be fetched is late.
    late_after_minutes: Minutes = 60
    # Sends nobody knows the end of, and what people wrote or objected to, may wait so long.
    unseen_after_minutes: Minutes = 1_440
    failing: FailureThreshold = field(default_factory=FailureThreshold)


def find_alert_settings_faults(alarms: AlertSettings) -> Iterator[Fault]:
    """Beyond its shape, with pointers into the file."""
    for index, address in enumerate(alarms.email):
        if not is_email_address(address):
            yield _build_email_fault(["alerts", "email", index], address)
    if alarms.sender is not None and not is_email_address(alarms.sender):
        yield _build_email_fault(["alerts", "from"], alarms.sender)


def find_alert_provider_faults(
    alarms: AlertSettings | None, lines: Mapping[str, DeliveryProvider]
) -> Iterator[Fault]:
    """lines: those there are once the file is applied."""
    if alarms is None or alarms.provider is None:
        return
    line = lines.get(alarms.provider)
    if line is None or line.channel != "EMAIL":
        words = f'There is no line "{alarms.provider}" for e-mail. Name one, or leave it out.'
        yield Fault(render_pointer(["alerts", "provider"]), words, "UNKNOWN_LINE")


def _build_email_fault(path: list[str | int], address: str) -> Fault:
    words = f'"{address}" is no plain e-mail address such as "ops@example.com".'
    return Fault(render_pointer(path), words, "WRONG_EMAIL")


# Less than this between two signs is one alarm: what comes and goes is not told each time.
QUIET_PERIOD = timedelta(minutes=15)


class AlertKind(StrEnum):
    # About a line, by its name.
    LINE_UNUSABLE = "LINE_UNUSABLE"
    LINE_FAILING = "LINE_FAILING"
    LINE_BACKLOG = "LINE_BACKLOG"
    BATCH_LATE = "BATCH_LATE"
    MAILBOX_LATE = "MAILBOX_LATE"
    UNMATCHED_REPORTS = "UNMATCHED_REPORTS"
    UNMATCHED_SMS = "UNMATCHED_SMS"
    # About a line and where it sends to: "post/example.com".
    DESTINATION_FAILING = "DESTINATION_FAILING"
    # About a merchant, by its number.
    UNKNOWN_SENDS = "UNKNOWN_SENDS"
    OVERDUE_DISPUTES = "OVERDUE_DISPUTES"
    UNSEEN_REPLIES = "UNSEEN_REPLIES"
    WEBHOOKS_OFF = "WEBHOOKS_OFF"
    WEBHOOKS_FAILING = "WEBHOOKS_FAILING"
    # About the installation.
    STEPS_LATE = "STEPS_LATE"
    ARCHIVE_BEHIND = "ARCHIVE_BEHIND"
    # About a host, by its name.
    CLOCKS_APART = "CLOCKS_APART"
    # Events.
    BREAK_GLASS = "BREAK_GLASS"
    SECOND_FACTOR_LOCKED = "SECOND_FACTOR_LOCKED"


EVENTS = frozenset({AlertKind.BREAK_GLASS, AlertKind.SECOND_FACTOR_LOCKED})


class AlertPhase(StrEnum):
    BEGAN = "BEGAN"
    LASTS = "LASTS"
    OVER = "OVER"


class AlertFigures(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What is told of it; nothing of a debtor's or user's."""

    count: int | None = None
    # Of how many.
    among: int | None = None
    since: datetime | None = None
    # The merchant's key.
    merchant: str | None = None
    # What two clocks said at one moment.
    host_clock: datetime | None = None
    database_clock: datetime | None = None


class AlertCondition(msgspec.Struct, frozen=True, gc=False):
    kind: AlertKind
    # "" where it is about the installation.
    subject: str
    figures: AlertFigures = AlertFigures()


class Alert(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    alert_id: UUID
    kind: AlertKind
    subject: str
    figures: AlertFigures
    began_at: datetime
    # When its sign was found last.
    seen_at: datetime
    ended_at: datetime | None
    # How often it was told of, when last, and as what.
    tellings: int = 0
    told_at: datetime | None = None
    told_as: AlertPhase | None = None


@dataclass(frozen=True, slots=True)
class AlertChanges:
    began: Sequence[AlertCondition]
    # By the alarm's id.
    lasting: Mapping[UUID, AlertCondition]
    over: Collection[UUID]


def compare_alerts(
    standing: Sequence[Alert], found: Sequence[AlertCondition], now: datetime
) -> AlertChanges:
    """standing: those that are not over."""
    known = {(each.kind, each.subject): each for each in standing}
    signs = {(each.kind, each.subject): each for each in found}
    return AlertChanges(
        began=[sign for key, sign in signs.items() if key not in known],
        lasting={known[key].alert_id: sign for key, sign in signs.items() if key in known},
        over=[
            alarm.alert_id
            for key, alarm in known.items()
            if key not in signs and now - alarm.seen_at >= QUIET_PERIOD
        ],
    )


def decide_phase(alarm: Alert, now: datetime, again_after: timedelta) -> AlertPhase | None:
    """As what it is to be told of at this moment; none: it is not."""
    if alarm.told_as is None or alarm.told_at is None:
        is_news = alarm.ended_at is None or alarm.kind in EVENTS
        return AlertPhase.BEGAN if is_news else None
    if alarm.told_as is AlertPhase.OVER or alarm.kind in EVENTS:
        return None
    if alarm.ended_at is not None:
        return AlertPhase.OVER
    return AlertPhase.LASTS if now - alarm.told_at >= again_after else None
