"""What waits for a person at a merchant: how much of each kind, and since when the oldest.

Each is counted as far as it is cheap; the oldest is the first of its list's index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import find_overdue_before
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.list_disputes import (
    DISPUTES,
    OPEN_DISPUTES,
    build_overdue_filter,
)
from dunwell.cases.modalities.list_modalities import MODALITIES, ModalityFilter
from dunwell.cases.modalities.modality import ModalityState
from dunwell.cases.payments.list_payments import REQUESTS, RequestFilter
from dunwell.cases.payments.requests.request_states import RequestState
from dunwell.cases.replies.store import count_unseen
from dunwell.contact.messages.communications.store import count_failed
from dunwell.contact.messages.list_communications import COMMUNICATIONS, CommunicationFilter
from dunwell.core.events.list_endpoints import ENDPOINTS, EndpointFilter
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import Count, ListedTable
from dunwell.platform.database.lists import MAX_COUNTED, count_listed, find_oldest_at

_BOUNCES_FOR = timedelta(days=7)


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


def _list_asked(work: Work) -> Mapping[Kind, tuple[ListedTable[Any, Any, Any], object]]:
    """The list and the filter of each kind."""
    configuration = work.merchant.configuration
    zone, answer_days = configuration.timezone, configuration.modalities.answer_within_days
    requested_before = find_overdue_before(work.now, answer_days, zone)
    requested = ModalityFilter(ModalityState.REQUESTED, stands=True)
    return {
        Kind.OPEN_DISPUTES: (DISPUTES, OPEN_DISPUTES),
        Kind.OVERDUE_DISPUTES: (DISPUTES, build_overdue_filter(work)),
        Kind.REQUESTED_MODALITIES: (MODALITIES, requested),
        Kind.OVERDUE_MODALITIES: (MODALITIES, replace(requested, until=requested_before)),
        Kind.UNKNOWN_SENDS: (COMMUNICATIONS, CommunicationFilter("UNKNOWN")),
        Kind.FAILING_ENDPOINTS: (ENDPOINTS, EndpointFilter(is_working=False)),
        Kind.PENDING_PAYMENTS: (REQUESTS, RequestFilter(RequestState.PENDING)),
    }


async def _look(work: Work, listed: ListedTable[Any, Any, Any], wanted: object) -> Waiting:
    count = await count_listed(work.scope(), listed, wanted, limit=MAX_COUNTED)
    oldest_at = await find_oldest_at(work.scope(), listed, wanted) if count.number else None
    return Waiting(count, oldest_at)


async def _look_at_failed(work: Work) -> Waiting:
    """They failed at any time behind their planning, by which their list is ordered."""
    since = work.now - _BOUNCES_FOR
    number, oldest_at = await count_failed(work.tx, work.merchant_id, since, MAX_COUNTED + 1)
    return Waiting(Count(min(number, MAX_COUNTED), is_more=number > MAX_COUNTED), oldest_at)


async def _look_at_replies(work: Work) -> Waiting:
    number, oldest_at = await count_unseen(work.tx, work.merchant_id, MAX_COUNTED + 1)
    return Waiting(Count(min(number, MAX_COUNTED), is_more=number > MAX_COUNTED), oldest_at)
