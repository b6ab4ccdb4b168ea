"""What waits for a person at a merchant: how much of each kind, and since when the oldest.

Each is counted as far as it is cheap; the oldest is the first of its list's index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import find_overdue_before
from dunwell.accounts.merchants.newest_first import (
    MOST_COUNTED,
    Count,
    ListedTable,
    Test,
    Wanted,
    count_newest,
    find_oldest,
)
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.find_modalities import MODALITIES, UNANSWERED
from dunwell.cases.payments.find_payments import PENDING, REQUESTS
from dunwell.cases.replies.store import count_unseen
from dunwell.contact.messages.communication_store import count_failed
from dunwell.contact.messages.lists.find_communications import COMMUNICATIONS, UNKNOWN
from dunwell.core.events.find_endpoints import ENDPOINTS, LIVE, UNWELL
from dunwell.platform.database.database import snapshot
from dunwell.platform.text.cursor import CursorForm

_BOUNCES_FOR = timedelta(days=7)
# The list of disputes as disputes.find_disputes has it; rides on disputes_open_list.
_DISPUTES: ListedTable[Any] = ListedTable(
    "disputes", "dispute_id", cast="uuid", at="opened_at", cursors=CursorForm(b"dsp1", "Q16s")
)
_OPEN: Test = ("l.state = 'OPEN'", ())


class Kind(StrEnum):
    OPEN_DISPUTES = "OPEN_DISPUTES"
    # Of these, those that should have been answered by now.
    OVERDUE_DISPUTES = "OVERDUE_DISPUTES"
    REQUESTED_MODALITIES = "REQUESTED_MODALITIES"
    # Of these, those that should have been answered by now.
    OVERDUE_MODALITIES = "OVERDUE_MODALITIES"
    UNKNOWN_SENDS = "UNKNOWN_SENDS"
    FAILING_ENDPOINTS = "FAILING_ENDPOINTS"
    # Communications that failed in the last seven days.
    BOUNCED_CONTACTS = "BOUNCED_CONTACTS"
    # Answers of debtors to e-mails, which nobody has looked at.
    UNSEEN_REPLIES = "UNSEEN_REPLIES"
    # Money that debtors say is under way.
    PENDING_PAYMENTS = "PENDING_PAYMENTS"


@dataclass(frozen=True, slots=True)
class Waiting:
    count: Count
    # When the oldest of them arose, by its list's time; none: there is none.
    oldest_at: datetime | None


async def read_waiting(work: Work) -> Mapping[Kind, Waiting]:
    """Of one instant."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        found = {kind: await _look(work, *asked) for kind, asked in _list_asked(work).items()}
        return {
            **found,
            Kind.BOUNCED_CONTACTS: await _look_at_failed(work),
            Kind.UNSEEN_REPLIES: await _look_at_replies(work),
        }


def _list_asked(work: Work) -> Mapping[Kind, tuple[ListedTable[Any], Wanted[Any]]]:
    configuration = work.merchant.configuration
    zone, answer_days = configuration.timezone, configuration.modalities.answer_within_days
    within = configuration.disputes.answer_within_days
    opened_before = find_overdue_before(work.now, within, zone)
    requested_before = find_overdue_before(work.now, answer_days, zone)
    return {
        Kind.OPEN_DISPUTES: (_DISPUTES, Wanted(seek=(_OPEN,))),
        Kind.OVERDUE_DISPUTES: (
            _DISPUTES, Wanted(seek=(_OPEN,), filters=(("l.opened_at < {}", (opened_before,)),)),
        ),
        Kind.REQUESTED_MODALITIES: (MODALITIES, Wanted(seek=(UNANSWERED,))),
        Kind.OVERDUE_MODALITIES: (
            MODALITIES,
            Wanted(
                seek=(UNANSWERED,), filters=(("l.requested_at < {}", (requested_before,)),)
            ),
        ),
        Kind.UNKNOWN_SENDS: (COMMUNICATIONS, Wanted(seek=(UNKNOWN,))),
        Kind.FAILING_ENDPOINTS: (ENDPOINTS, Wanted(filters=(LIVE, UNWELL))),
        Kind.PENDING_PAYMENTS: (REQUESTS, Wanted(seek=(PENDING,))),
    }  # fmt: skip


async def _look(work: Work, listed: ListedTable[Any], wanted: Wanted[Any]) -> Waiting:
    count = await count_newest(work, listed, wanted)
    oldest_at = await find_oldest(work, listed, wanted) if count.number else None
    return Waiting(count, oldest_at)


async def _look_at_failed(work: Work) -> Waiting:
    """They failed at any time behind their planning, by which their list is ordered."""
    since = work.now - _BOUNCES_FOR
    number, oldest_at = await count_failed(work.tx, work.merchant_id, since, MOST_COUNTED + 1)
    return Waiting(Count(min(number, MOST_COUNTED), is_more=number > MOST_COUNTED), oldest_at)


async def _look_at_replies(work: Work) -> Waiting:
    number, oldest_at = await count_unseen(work.tx, work.merchant_id, MOST_COUNTED + 1)
    return Waiting(Count(min(number, MOST_COUNTED), is_more=number > MOST_COUNTED), oldest_at)
