"""What an alarm is, when one begins and ends, and when it is told.

Signs are what is looked for each minute: a kind, and what it is about. One that is found begins an
alarm, or lasts; an alarm whose sign was found no more for `CALM` is over. An event (somebody signed
in with the key for emergencies) has no sign to look for: it is over when it has begun.

told so far   it is over   then
never         no, event    BEGAN
never         yes          nothing: nobody has heard of it
BEGAN, LASTS  no           LASTS, so many hours after it was told last
BEGAN, LASTS  yes, event   nothing
BEGAN, LASTS  yes          OVER
OVER          yes          nothing

Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

# Less than this between two signs is one alarm: what comes and goes is not told each time.
CALM = timedelta(minutes=15)


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


class Phase(StrEnum):
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


class Sign(msgspec.Struct, frozen=True, gc=False):
    kind: AlertKind
    # "" where it is about the installation.
    subject: str
    figures: AlertFigures = AlertFigures()


class Alarm(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    alarm_id: UUID
    kind: AlertKind
    subject: str
    figures: AlertFigures
    began_at: datetime
    # When its sign was found last.
    seen_at: datetime
    over_at: datetime | None
    # How often it was told of, when last, and as what.
    tellings: int = 0
    told_at: datetime | None = None
    told_as: Phase | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    began: Sequence[Sign]
    # By the alarm's id.
    lasting: Mapping[UUID, Sign]
    over: Collection[UUID]


def compare(standing: Sequence[Alarm], found: Sequence[Sign], now: datetime) -> Changes:
    """standing: those that are not over."""
    known = {(each.kind, each.subject): each for each in standing}
    signs = {(each.kind, each.subject): each for each in found}
    return Changes(
        began=[sign for key, sign in signs.items() if key not in known],
        lasting={known[key].alarm_id: sign for key, sign in signs.items() if key in known},
        over=[
            alarm.alarm_id
            for key, alarm in known.items()
            if key not in signs and now - alarm.seen_at >= CALM
        ],
    )


def decide_phase(alarm: Alarm, now: datetime, again_after: timedelta) -> Phase | None:
    """As what it is to be told of at this moment; none: it is not."""
    if alarm.told_as is None or alarm.told_at is None:
        is_news = alarm.over_at is None or alarm.kind in EVENTS
        return Phase.BEGAN if is_news else None
    if alarm.told_as is Phase.OVER or alarm.kind in EVENTS:
        return None
    if alarm.over_at is not None:
        return Phase.OVER
    return Phase.LASTS if now - alarm.told_at >= again_after else None
