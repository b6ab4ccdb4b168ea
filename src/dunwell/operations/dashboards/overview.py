"""A merchant at a glance: claims by status, a forecast for tomorrow, recent messages and payments,
and what needs attention."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from itertools import dropwhile, takewhile
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import compute_overdue_before
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.files.store import DebitFileState
from dunwell.cases.direct_debit.listing.list_debits import (
    DEBIT_FILES,
    DebitFileFilter,
    count_debits_to_release,
)
from dunwell.cases.disputes.list_disputes import DISPUTES, OPEN_DISPUTES, build_overdue_filter
from dunwell.cases.modalities.list_modalities import MODALITIES, ModalityFilter
from dunwell.cases.modalities.modality import ModalityState
from dunwell.cases.payments.list_movements import MOVEMENTS, REFUNDS, MovementFilter
from dunwell.cases.payments.list_payments import PAYMENT_REQUESTS, PaymentRequestFilter
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.review_money import build_refund_review_filter
from dunwell.cases.replies.store import count_unread_replies
from dunwell.contact.messages.communications.list_communications import (
    COMMUNICATIONS,
    CommunicationFilter,
)
from dunwell.contact.messages.communications.store import count_failed_communications
from dunwell.core.claims.states import Status
from dunwell.core.events.webhooks.endpoints import ENDPOINTS, EndpointFilter
from dunwell.core.workflows.definition import ContactStep, FeeStep, Step, WaitStep
from dunwell.core.workflows.store import load_newest
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import Count, ListedTable
from dunwell.platform.database.lists import MAX_COUNTED, count_listed, find_oldest_at
from dunwell.platform.database.sql import load_statement

MAX_CLAIMS = 1_000
MAX_NEWEST = 10_000
RECENT = timedelta(days=7)
PAYMENT_DAYS = 14
_LOAD = load_statement(__file__, "overview.sql")


class PaidDay(msgspec.Struct, frozen=True, array_like=True):
    day: date
    currency: str
    cents: int
    number: int


class DueStep(msgspec.Struct, frozen=True, array_like=True):
    """The number of claims with this next step. Without a step, the claims are archived."""

    workflow_id: UUID
    major: int
    step_id: int | None
    number: int


class TomorrowForecast(msgspec.Struct, frozen=True):
    """What the claims that are due tomorrow do, if nothing is paid and all conditions hold.
    `contacts` counts them by the first channel of each; `fees` are in cents of the merchant's
    currency."""

    claims: int
    contacts: dict[str, int]
    fees: int
    fee_cents: int
    archived: int


class Overview(msgspec.Struct, frozen=True):
    states: dict[str, int]
    held: int
    tomorrow: TomorrowForecast
    # Contacts planned in the last seven days, by channel and state.
    contacts: dict[str, dict[str, int]]
    paid: list[PaidDay]
    # True if the merchant has MAX_NEWEST payments or more. Only the newest of them are counted.
    is_cut: bool


class _Loaded(msgspec.Struct, frozen=True):
    """The row of `overview.sql`."""

    states: dict[str, int]
    held: int
    tomorrow: list[DueStep]
    contacts: dict[str, dict[str, int]]
    paid: list[PaidDay]
    is_cut: bool


async def load_overview(work: Work) -> Overview:
    """Load the overview of the merchant, with days in its time zone."""
    work.require(Right.READ_CLAIMS)
    configuration = work.merchant.configuration
    zone = ZoneInfo(configuration.timezone)
    today = work.now.astimezone(zone).date()
    document = await work.tx.fetchval(
        _LOAD, work.merchant_id, MAX_CLAIMS + 1, work.now - RECENT,
        [str(each) for each in Status], _get_start_of_day(today, 1, zone), _get_start_of_day(today,
        2, zone), MAX_NEWEST,
        configuration.timezone, _get_start_of_day(today, 1 - PAYMENT_DAYS, zone),
    )  # fmt: skip
    loaded = msgspec.json.decode(document, type=_Loaded)
    due_versions = {(each.workflow_id, each.major) for each in loaded.tomorrow}
    versions = await load_newest(work.tx, work.merchant_id, due_versions) if due_versions else {}
    steps = {pair: version.definition.steps for pair, version in versions.items()}
    return Overview(
        states=loaded.states, held=loaded.held, tomorrow=forecast_day(loaded.tomorrow, steps),
        contacts=loaded.contacts, paid=loaded.paid, is_cut=loaded.is_cut,
    )  # fmt: skip


def forecast_day(
    due: Sequence[DueStep], steps: Mapping[tuple[UUID, int], Sequence[Step]]
) -> TomorrowForecast:
    """Forecast a day. The steps of a workflow follow each other immediately up to its next wait."""
    contacts, fees, fee_cents, archived = Counter[str](), 0, 0, 0
    for each in due:
        ran = _list_steps_until_wait(steps.get((each.workflow_id, each.major), ()), each.step_id)
        archived += each.number if each.step_id is None else 0
        for step in ran:
            if isinstance(step, ContactStep):
                contacts[step.channel] += each.number
            elif isinstance(step, FeeStep):
                fees += each.number
                fee_cents += each.number * int(step.value)
    return TomorrowForecast(
        sum(each.number for each in due),
        contacts,
        fees=fees,
        fee_cents=fee_cents,
        archived=archived,
    )


def _list_steps_until_wait(steps: Sequence[Step], first: int | None) -> Iterator[Step]:
    from_first = dropwhile(lambda step: step.id != first, steps)
    return takewhile(lambda step: not isinstance(step, WaitStep), from_first)


def _get_start_of_day(today: date, days: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(today + timedelta(days=days), time(), zone)


_FAILED_PERIOD = timedelta(days=7)


class AttentionKind(StrEnum):
    OPEN_DISPUTES = "OPEN_DISPUTES"
    # Open disputes whose response is overdue.
    OVERDUE_DISPUTES = "OVERDUE_DISPUTES"
    REQUESTED_MODALITIES = "REQUESTED_MODALITIES"
    # Pending requests whose response is overdue.
    OVERDUE_MODALITIES = "OVERDUE_MODALITIES"
    UNKNOWN_SENDS = "UNKNOWN_SENDS"
    FAILING_ENDPOINTS = "FAILING_ENDPOINTS"
    # Contacts that failed in the last seven days.
    BOUNCED_CONTACTS = "BOUNCED_CONTACTS"
    # Unread replies of debtors to e-mails.
    UNSEEN_REPLIES = "UNSEEN_REPLIES"
    # Bank transfers reported by debtors.
    PENDING_PAYMENTS = "PENDING_PAYMENTS"
    # Movements of money that staff has to look at.
    MOVEMENTS_TO_REVIEW = "MOVEMENTS_TO_REVIEW"
    # Refunds that were refused, or that have not been made for a week.
    REFUNDS_TO_REVIEW = "REFUNDS_TO_REVIEW"
    # Direct debits whose debtors were notified.
    DEBITS_TO_RELEASE = "DEBITS_TO_RELEASE"
    # Files with direct debits that a second user has to release.
    DEBIT_FILES_TO_RELEASE = "DEBIT_FILES_TO_RELEASE"
    # Released files that staff has to download, or whose delivery failed.
    DEBIT_FILES_TO_DELIVER = "DEBIT_FILES_TO_DELIVER"


@dataclass(frozen=True, slots=True)
class AttentionItem:
    count: Count
    # When the oldest item arose, by the time of its list. None if there is no item.
    oldest_at: datetime | None


async def count_attention_items(work: Work) -> Mapping[AttentionKind, AttentionItem]:
    """Count the items that need attention. All counts are from one snapshot."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        found = {
            kind: await _build_item(work, *request)
            for kind, request in _build_list_requests(work).items()
        }
        return {
            **found,
            AttentionKind.BOUNCED_CONTACTS: await _count_failed_messages(work),
            AttentionKind.UNSEEN_REPLIES: await _count_unread_replies(work),
            AttentionKind.DEBITS_TO_RELEASE: AttentionItem(*await count_debits_to_release(work)),
        }


def _build_list_requests(
    work: Work,
) -> Mapping[AttentionKind, tuple[ListedTable[Any, Any, Any], object]]:
    """Return the list and the filter of each kind."""
    configuration = work.merchant.configuration
    zone, answer_days = configuration.timezone, configuration.modalities.answer_within_days
    requested_before = compute_overdue_before(work.now, answer_days, zone)
    requested = ModalityFilter(ModalityState.REQUESTED, is_live=True)
    return {
        AttentionKind.OPEN_DISPUTES: (DISPUTES, OPEN_DISPUTES),
        AttentionKind.OVERDUE_DISPUTES: (DISPUTES, build_overdue_filter(work)),
        AttentionKind.REQUESTED_MODALITIES: (MODALITIES, requested),
        AttentionKind.OVERDUE_MODALITIES: (MODALITIES, replace(requested, until=requested_before)),
        AttentionKind.UNKNOWN_SENDS: (COMMUNICATIONS, CommunicationFilter("UNKNOWN")),
        AttentionKind.FAILING_ENDPOINTS: (ENDPOINTS, EndpointFilter(is_working=False)),
        AttentionKind.PENDING_PAYMENTS: (
            PAYMENT_REQUESTS,
            PaymentRequestFilter(PaymentRequestState.PENDING),
        ),
        AttentionKind.MOVEMENTS_TO_REVIEW: (MOVEMENTS, MovementFilter(needs_review=True)),
        AttentionKind.REFUNDS_TO_REVIEW: (REFUNDS, build_refund_review_filter(work.real_now)),
        AttentionKind.DEBIT_FILES_TO_RELEASE: (
            DEBIT_FILES,
            DebitFileFilter(DebitFileState.PROPOSED),
        ),
        AttentionKind.DEBIT_FILES_TO_DELIVER: (DEBIT_FILES, DebitFileFilter(needs_delivery=True)),
    }


async def _build_item(
    work: Work, listed: ListedTable[Any, Any, Any], wanted: object
) -> AttentionItem:
    count = await count_listed(work.scope(), listed, wanted, limit=MAX_COUNTED)
    oldest_at = await find_oldest_at(work.scope(), listed, wanted) if count.number else None
    return AttentionItem(count, oldest_at)


async def _count_failed_messages(work: Work) -> AttentionItem:
    """Count the messages that failed recently. The list of messages cannot be used, because it is
    ordered by the planned time, and a message can fail at any time after that."""
    since = work.now - _FAILED_PERIOD
    number, oldest_at = await count_failed_communications(
        work.tx, work.merchant_id, since, MAX_COUNTED + 1
    )
    return AttentionItem(Count(min(number, MAX_COUNTED), is_more=number > MAX_COUNTED), oldest_at)


async def _count_unread_replies(work: Work) -> AttentionItem:
    number, oldest_at = await count_unread_replies(work.tx, work.merchant_id, MAX_COUNTED + 1)
    return AttentionItem(Count(min(number, MAX_COUNTED), is_more=number > MAX_COUNTED), oldest_at)
