"""Notices: messages that a debtor requests or has to receive. When a notice may be sent, and what
the answer of its channel means. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from dunwell.contact.messages.letters.sheet import Sheet
from dunwell.contact.sending.channel import Accepted, Outcome, Permanent, Temporary, Unanswered

NoticeChannel = Literal["EMAIL", "SMS", "LETTER"]
# The limit per kind and claim.
MAX_PER_HOUR = 5
# The limits of requested notices to one address, over all claims and merchants of the installation.
MAX_PER_ADDRESS_PER_HOUR = 10
MAX_PER_ADDRESS_PER_DAY = 20
# Equal requests within this time count as one: a double click.
REPEATED_WITHIN = timedelta(seconds=10)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class NoticeKind(StrEnum):
    # Six digits to the address on file, which give a session more access.
    CODE = "CODE"
    # A new link to the address on file.
    LINK = "LINK"
    RECEIPT = "RECEIPT"
    # The confirmation of what a debtor reported or requested: a dispute, a transfer, a payment
    # plan, a deferral.
    CONFIRMATION = "CONFIRMATION"
    # Six digits to an address that is to replace the one on file.
    CHANGE_CODE = "CHANGE_CODE"
    # A message to the previous address, after another one replaced it.
    CHANGE_NOTICE = "CHANGE_NOTICE"
    # The response to a dispute.
    ANSWER = "ANSWER"
    # A reminder of what was agreed and has to be done by the debtor.
    REMINDER = "REMINDER"
    # A message to the merchant about a dispute without a response in time.
    OVERDUE = "OVERDUE"


# For how long after its request a notice may be sent. A code is no longer useful when its page
# stops accepting it.
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
# A print service may be unavailable over a weekend, and no channel is left after a letter. A letter
# about a missed instalment still arrives within its seven days of grace.
_LETTER_SENT_WITHIN = timedelta(days=3)
_CHANNELS_BY_PREFERENCE: tuple[NoticeChannel, ...] = ("EMAIL", "SMS", "LETTER")
# Kinds that were just requested by someone who waits for them. They are sent to suppressed
# addresses too, unless the reason is WRONG_PERSON.
_AWAITED = frozenset({NoticeKind.CODE, NoticeKind.LINK, NoticeKind.CHANGE_CODE})
# Kinds that are sent automatically and repeatedly, like the messages of a workflow, so that the
# recipient can end them with one click. All others follow a single event.
_ONE_CLICK_UNSUBSCRIBE = frozenset({NoticeKind.REMINDER})


@dataclass(frozen=True, slots=True)
class Addressee:
    """The claim, channel, address and language of a notice. A postal address is in the form of the
    suppression list; the sheet has the lines for the window."""

    claim_id: int
    channel: NoticeChannel
    recipient: str
    language: str


@dataclass(frozen=True, slots=True)
class DebtorNotice:
    """The content of a notice. Token and codes are masked (see `notice_codes`)."""

    kind: NoticeKind
    addressee: Addressee
    # An SMS has neither subject nor HTML.
    subject: str | None
    body_text: str
    body_html: str | None
    # Set only for letters.
    sheet: Sheet | None = None


@dataclass(frozen=True, slots=True)
class NoticeLimitReached:
    """The notice was not planned, because a limit for its claim or its address is reached. The next
    notice can be requested at `again_at`."""

    again_at: datetime


@dataclass(frozen=True, slots=True)
class RecipientUnreachable:
    """The notice was not planned, because the address or the debtor must not be contacted or the
    merchant does not use the channel."""

    reason: Literal["SUPPRESSED", "NO_CHANNEL"]


def decide_limit(requested_at: Sequence[datetime], now: datetime) -> NoticeLimitReached | None:
    """Return the limit of a claim if it is reached, otherwise None.

    `requested_at` has the instants at which notices of this kind were requested for the claim.
    """
    again_at = _find_next_allowed(requested_at, MAX_PER_HOUR, HOUR, now)
    return NoticeLimitReached(again_at) if again_at else None


def decide_address_limit(
    requested_at: Sequence[datetime], now: datetime
) -> NoticeLimitReached | None:
    """Return the limit of an address that is reached, otherwise None.

    `requested_at` has the instants at which notices that satisfy `is_awaited` were requested to
    this address, for any claim.
    """
    ends = (
        _find_next_allowed(requested_at, MAX_PER_ADDRESS_PER_HOUR, HOUR, now),
        _find_next_allowed(requested_at, MAX_PER_ADDRESS_PER_DAY, DAY, now),
    )
    again_at = max((end for end in ends if end), default=None)
    return NoticeLimitReached(again_at) if again_at else None


def decide_expiry(kind: NoticeKind, channel: NoticeChannel, now: datetime) -> datetime:
    """Return the time after which the notice is no longer sent."""
    within = _SENT_WITHIN[kind]
    return now + (max(within, _LETTER_SENT_WITHIN) if channel == "LETTER" else within)


def list_remaining_channels(
    tried: NoticeChannel | None, *, is_worth_letter: bool
) -> Sequence[NoticeChannel]:
    """Return the channels left for an occasion, in order of preference.

    `tried` is the channel of the occasion's last notice, or None before the first.
    `is_worth_letter` says whether a letter is sent if no other channel reaches the debtor
    (`facts.is_worth_letter`).
    """
    left = (
        _CHANNELS_BY_PREFERENCE
        if tried is None
        else _CHANNELS_BY_PREFERENCE[_CHANNELS_BY_PREFERENCE.index(tried) + 1 :]
    )
    return [each for each in left if each != "LETTER" or is_worth_letter]


def is_awaited(kind: NoticeKind) -> bool:
    """Return whether the notice is requested by someone who waits for it."""
    return kind in _AWAITED


def has_one_click_unsubscribe(kind: NoticeKind) -> bool:
    """Return whether the e-mail has the header List-Unsubscribe (RFC 8058)."""
    return kind in _ONE_CLICK_UNSUBSCRIBE


def respects_suppression(kind: NoticeKind, reason: str) -> bool:
    """Return whether the notice is not sent to an address that is suppressed for this reason.

    A stranger never receives anything that could open the claim. The notice of a changed address is
    sent to the previous address even if the debtor, or someone impersonating the debtor, wants no
    mail there.
    """
    if reason == "WRONG_PERSON":
        return True
    if kind is NoticeKind.CHANGE_NOTICE and reason == "DEBTOR":
        return False
    return not is_awaited(kind)


def respects_contact_stop(kind: NoticeKind) -> bool:
    """Return whether the notice is not sent if the debtor must not be contacted. This holds for all
    notices except those just requested and those to the merchant."""
    return not is_awaited(kind) and kind is not NoticeKind.OVERDUE


def _find_next_allowed(
    requested_at: Sequence[datetime], limit: int, within: timedelta, now: datetime
) -> datetime | None:
    """Return when one more notice can be requested, or None if it can be requested now."""
    counted = sorted(at for at in requested_at if at > now - within)
    return None if len(counted) < limit else counted[-limit] + within


NoticeState = Literal["PLANNED", "HANDED_OVER", "ACCEPTED", "FAILED", "UNKNOWN"]
TOO_LATE = "not accepted in time"
_FIRST_DELAY = timedelta(seconds=5)
_MAX_DELAY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class NoticeSettlement:
    state: NoticeState
    # When the notice is due again; None if it has its final outcome.
    due_at: datetime | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DueNotice:
    """A notice that is due."""

    # True if it was given to the channel before and the outcome is unknown.
    was_handed_over: bool
    is_suppressed: bool
    # True if the channel's adapter can be called again; None if the merchant does not use the
    # channel.
    is_repeatable: bool | None
    expires_at: datetime


def decide_no_call(notice: DueNotice, now: datetime) -> NoticeSettlement | None:
    """Return the outcome if the channel must not be called, or None if it may be."""
    reason = _find_obstacle(notice, now)
    if notice.was_handed_over:
        return NoticeSettlement("UNKNOWN") if reason or not notice.is_repeatable else None
    return NoticeSettlement("FAILED", failure=reason) if reason else None


def decide_settlement(
    answer: Outcome | Unanswered, *, attempts: int, expires_at: datetime, now: datetime
) -> NoticeSettlement:
    """Decide what the answer of the channel means.

    `attempts` is the number of attempts, including the one that was answered.
    """
    if isinstance(answer, Accepted):
        return NoticeSettlement("ACCEPTED")
    if isinstance(answer, Permanent):
        return NoticeSettlement("FAILED", failure=answer.reason)
    requested_seconds = answer.retry_after_seconds if isinstance(answer, Temporary) else 0
    due_at = now + max(_compute_delay(attempts), timedelta(seconds=requested_seconds))
    if isinstance(answer, Temporary):
        if due_at < expires_at:
            return NoticeSettlement("PLANNED", due_at)
        return NoticeSettlement("FAILED", failure=TOO_LATE)
    if answer.is_repeatable and due_at < expires_at:
        return NoticeSettlement("HANDED_OVER", due_at)
    return NoticeSettlement("UNKNOWN")


def _find_obstacle(notice: DueNotice, now: datetime) -> str | None:
    if notice.is_repeatable is None:
        return "the merchant does not use this channel"
    if notice.is_suppressed:
        return "suppressed"
    return TOO_LATE if notice.expires_at <= now else None


def _compute_delay(attempts: int) -> timedelta:
    """Return the delay before the next attempt, doubling from five seconds to ten minutes."""
    doublings = min(attempts - 1, 10)
    return min(_FIRST_DELAY * (1 << doublings), _MAX_DELAY)
