"""A message that a debtor asked for or is owed: when it may be sent, and what its channel's answer
means. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from dunwell.contact.messages.letters.sheet import Sheet
from dunwell.contact.sending.channel import Accepted, Outcome, Permanent, Temporary, Unanswered

NoticeChannel = Literal["EMAIL", "SMS", "LETTER"]
# Of one kind, for one claim, in one hour.
MOST_AN_HOUR = 5
# Of what is waited for, to one address, over all claims and merchants of the installation.
MOST_TO_ONE_AN_HOUR = 10
MOST_TO_ONE_A_DAY = 20
# A second click; whoever waited longer wants another one.
REPEATED_WITHIN = timedelta(seconds=10)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class NoticeKind(StrEnum):
    # Six digits to the address on file, which raise what a session may see.
    CODE = "CODE"
    # A new link, to the address on file.
    LINK = "LINK"
    RECEIPT = "RECEIPT"
    # Of what the debtor has said or asked for: an objection, a transfer, a plan, more time.
    CONFIRMATION = "CONFIRMATION"
    # Six digits to an address that is to become the one on file.
    CHANGE_CODE = "CHANGE_CODE"
    # To the old address, when another one became the one on file.
    CHANGE_NOTICE = "CHANGE_NOTICE"
    # How an objection was answered.
    ANSWER = "ANSWER"
    # Of what was agreed and is to be done by the debtor.
    REMINDER = "REMINDER"
    # To the merchant: an objection that was not answered in time.
    OVERDUE = "OVERDUE"


# So long is a notice worth sending. A code ends when its page stops waiting for it.
_SENT_WITHIN = {
    NoticeKind.CODE: timedelta(minutes=10),
    NoticeKind.LINK: timedelta(hours=1),
    NoticeKind.RECEIPT: timedelta(days=1),
    NoticeKind.CONFIRMATION: timedelta(days=1),
    NoticeKind.CHANGE_CODE: timedelta(minutes=10),
    NoticeKind.CHANGE_NOTICE: timedelta(days=3),
    NoticeKind.ANSWER: timedelta(days=1),
    NoticeKind.REMINDER: timedelta(days=1),
    NoticeKind.OVERDUE: timedelta(days=3),
}
# A print service may be away over a weekend, and no other way is left after a letter. A letter
# about a missed instalment can still arrive before the seven days of its grace are over.
_LETTER_SENT_WITHIN = timedelta(days=3)
_WAYS: tuple[NoticeChannel, ...] = ("EMAIL", "SMS", "LETTER")
# Asked for just now by somebody who waits for it: it goes to a suppressed address too.
_AWAITED = frozenset({NoticeKind.CODE, NoticeKind.LINK, NoticeKind.CHANGE_CODE})
# Sent of itself, again and again, as a process's messages are. All else answers one act.
_ENDED_BY_ONE_CLICK = frozenset({NoticeKind.REMINDER})


@dataclass(frozen=True, slots=True)
class Addressee:
    """Of which claim, by which channel, at which address, in which language. A postal address as
    suppressions know it; the window's lines are the sheet's."""

    claim_id: int
    channel: NoticeChannel
    recipient: str
    language: str


@dataclass(frozen=True, slots=True)
class DebtorNotice:
    """What is to be sent; token and codes are masks (`secrets`)."""

    kind: NoticeKind
    addressee: Addressee
    # An SMS has neither subject nor HTML.
    subject: str | None
    body_text: str
    body_html: str | None
    # Of a letter.
    sheet: Sheet | None = None


@dataclass(frozen=True, slots=True)
class TooMany:
    """Not planned: there were enough of this kind. The next may be asked for at `again_at`."""

    again_at: datetime


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Not planned: nobody may write to the address or the person, or the merchant has no such
    channel."""

    reason: Literal["SUPPRESSED", "NO_CHANNEL"]


def decide_limit(sent_at: Sequence[datetime], now: datetime) -> TooMany | None:
    """sent_at: when the claim's notices of this kind were asked for."""
    again_at = _find_room(sent_at, MOST_AN_HOUR, HOUR, now)
    return TooMany(again_at) if again_at else None


def decide_limit_to_one(sent_at: Sequence[datetime], now: datetime) -> TooMany | None:
    """sent_at: when somebody last asked for what `is_awaited` at this address, for any claim."""
    ends = (
        _find_room(sent_at, MOST_TO_ONE_AN_HOUR, HOUR, now),
        _find_room(sent_at, MOST_TO_ONE_A_DAY, DAY, now),
    )
    again_at = max((end for end in ends if end), default=None)
    return TooMany(again_at) if again_at else None


def decide_expiry(kind: NoticeKind, channel: NoticeChannel, now: datetime) -> datetime:
    """When it is not sent any more."""
    within = _SENT_WITHIN[kind]
    return now + (max(within, _LETTER_SENT_WITHIN) if channel == "LETTER" else within)


def list_ways(tried: NoticeChannel | None, *, is_worth_letter: bool) -> Sequence[NoticeChannel]:
    """Return the channels left for an occasion, the first that works being used.

    is_worth_letter: whether a letter is sent where nothing else reaches the debtor
    (`facts.is_worth_letter`).
    """
    left = _WAYS if tried is None else _WAYS[_WAYS.index(tried) + 1 :]
    return [each for each in left if each != "LETTER" or is_worth_letter]


def is_awaited(kind: NoticeKind) -> bool:
    """Whether anybody may ask for it, who then waits for it."""
    return kind in _AWAITED


def is_ended_by_one_click(kind: NoticeKind) -> bool:
    """Whether its e-mail bears List-Unsubscribe (RFC 8058)."""
    return kind in _ENDED_BY_ONE_CLICK


def heeds_suppression(kind: NoticeKind, reason: str) -> bool:
    """Whether an address suppressed for this reason does not get it. A stranger gets nothing that
    could open the claim. That an address was changed its old one is told even if the debtor, or who
    plays the debtor, wants no mail there."""
    if reason == "WRONG_PERSON":
        return True
    if kind is NoticeKind.CHANGE_NOTICE and reason == "DEBTOR":
        return False
    return not is_awaited(kind)


def heeds_contact_stop(kind: NoticeKind) -> bool:
    """Whether it is not sent about a claim whose debtor must not be contacted: everything but what
    somebody has asked for just now, and what goes to the merchant."""
    return not is_awaited(kind) and kind is not NoticeKind.OVERDUE


def _find_room(
    sent_at: Sequence[datetime], most: int, within: timedelta, now: datetime
) -> datetime | None:
    """When there is room for one more; none: there is now."""
    counted = sorted(at for at in sent_at if at > now - within)
    return None if len(counted) < most else counted[-most] + within


State = Literal["PLANNED", "HANDED_OVER", "ACCEPTED", "FAILED", "UNKNOWN"]
TOO_LATE = "not taken in time"
_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Settlement:
    state: State
    # When it is due again; none: it is settled.
    due_at: datetime | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DueNotice:
    """A notice that has fallen due."""

    # It was given to the channel before, and nobody knows what became of that.
    was_handed_over: bool
    is_suppressed: bool
    # Of the channel's adapter; none: the merchant has none for it.
    is_repeatable: bool | None
    expires_at: datetime


def decide_no_call(standing: DueNotice, now: datetime) -> Settlement | None:
    """Why the channel is not called; none: it is."""
    reason = _find_obstacle(standing, now)
    if standing.was_handed_over:
        return Settlement("UNKNOWN") if reason or not standing.is_repeatable else None
    return Settlement("FAILED", failure=reason) if reason else None


def decide_settlement(
    answer: Outcome | Unanswered, *, tries: int, expires_at: datetime, now: datetime
) -> Settlement:
    """tries: with the one that was answered."""
    if isinstance(answer, Accepted):
        return Settlement("ACCEPTED")
    if isinstance(answer, Permanent):
        return Settlement("FAILED", failure=answer.reason)
    asked = answer.retry_after_seconds if isinstance(answer, Temporary) else 0
    due_at = now + max(_pause(tries), timedelta(seconds=asked))
    if isinstance(answer, Temporary):
        if due_at < expires_at:
            return Settlement("PLANNED", due_at)
        return Settlement("FAILED", failure=TOO_LATE)
    if answer.is_repeatable and due_at < expires_at:
        return Settlement("HANDED_OVER", due_at)
    return Settlement("UNKNOWN")


def _find_obstacle(standing: DueNotice, now: datetime) -> str | None:
    if standing.is_repeatable is None:
        return "the merchant has no such channel"
    if standing.is_suppressed:
        return "suppressed"
    return TOO_LATE if standing.expires_at <= now else None


def _pause(tries: int) -> timedelta:
    """Doubling from five seconds to ten minutes."""
    doublings = min(tries - 1, 10)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
