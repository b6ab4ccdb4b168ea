"""Lists across 60,000 claims: every first and following page uses an index, reads few more rows
than it shows if its filter matches often, and never reads more than its budget."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    MandateFilter,
    list_all_mandates,
    list_collections,
)
from dunwell.cases.disputes.list_disputes import list_disputes
from dunwell.cases.modalities.list_modalities import ModalityFilter, list_modalities
from dunwell.cases.modalities.modality import ModalityState
from dunwell.cases.payments.list_movements import (
    MovementFilter,
    list_claim_movements,
    list_claim_refunds,
    list_movements,
)
from dunwell.cases.payments.list_payments import (
    PaymentFilter,
    PaymentRequestFilter,
    list_claim_payment_requests,
    list_claim_payments,
    list_payment_requests,
    list_payments,
)
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.contact.messages.communications.list_communications import (
    CommunicationFilter,
    list_communications,
)
from dunwell.contact.messages.suppression import SuppressionFilter, list_suppressions
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey, count_claims, list_claims
from dunwell.core.claims.lists.store import MAX_FOUND, ClaimFilter
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.core.claims.searching.store import BUDGET as SEARCH_BUDGET
from dunwell.core.claims.states import HoldKind, Status
from dunwell.operations.dashboards.overview import count_attention_items
from dunwell.operations.jobs.jobs import list_jobs
from dunwell.platform.database.listed_table import BUDGET
from dunwell.platform.resources import Resources
from tests.support.plans import Explaining
from tests.support.webhooks import Outbox, an_outbox

COUNT, PAGE = 60_000, 50
# The rows of a page, each with its claim and related rows, and some more.
MAX_READ_PER_PAGE = 15 * PAGE
# The number of rows that one transaction writes.
ROWS_AT_ONCE = 1_000
# The rows are scanned twice, for the page and for the start of the next page; each row from an
# index is counted once more when it is filtered.
MAX_READ_OVERALL = 4 * BUDGET + MAX_READ_PER_PAGE
_GROWN = {
    "claims", "debtors", "items", "holds", "payments", "payment_modalities", "payment_requests",
    "communications", "suppressions", "disputes", "claim_search", "payment_movements",
    "payment_refunds", "mandates", "debit_collections",
}  # fmt: skip
# Rows are a minute apart; a tenth are held, and one in a thousand is rare in some way.
_FILL = """
SET session_replication_role = replica;
-- The one there is comes before all.
UPDATE claims SET written_by = '1';
INSERT INTO claims (merchant_id, claim_id, reference_number, currency, status, created_at,
                    updated_at, written_by, held, due_at, workflow_id, workflow_major)
SELECT {m}, 1000000 + n, 'A-' || n, 'EUR',
       CASE WHEN n % 100 = 0 THEN 'WITHDRAWN' ELSE 'IN_PROCESS' END,
       timestamptz '{now}' + n * interval '1 minute', timestamptz '{now}' + n * interval '1 minute',
       (10 + n / 1000)::text::xid8, n % 10 = 0,
       CASE WHEN n % 100 > 0 THEN timestamptz '{now}' + n % 1000 * interval '1 hour' END,
       CASE WHEN n % 1000 = 7 THEN '{other}'::uuid ELSE '{workflow}'::uuid END, 1
FROM generate_series(1, {count}) n;
INSERT INTO debtors (merchant_id, claim_id, last_name, customer_number)
SELECT {m}, 1000000 + n, 'Muster', 'C-' || n / 5 FROM generate_series(1, {count}) n;
INSERT INTO items (merchant_id, claim_id, position, type, value_cents)
SELECT {m}, 1000000 + n, 0, 'PRIMARY', CASE WHEN n % 1000 = 3 THEN 999999 ELSE 100 END
FROM generate_series(1, {count}) n;
INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, actor_kind)
SELECT {m}, 1000000 + n, gen_random_uuid(),
       CASE WHEN n % 1000 = 0 THEN 'DISPUTE' ELSE 'PAUSE' END, '{now}', 'CREDENTIAL'
FROM generate_series(10, {count}, 10) n;
INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency, transaction_id,
                      paid_at, recorded_at, written_by, provider_name, reversed_at)
SELECT {m}, gen_random_uuid(), 1000000 + n, 1, 'EUR', 'bulk ' || n, '{now}',
       timestamptz '{now}' + n * interval '1 minute', (10 + n / 1000)::text::xid8,
       CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'usual' END,
       CASE WHEN n % 1000 = 1 THEN timestamptz '{now}' END
FROM generate_series(1, {count}) n;
INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind, claim_id,
                               payment_id, amount_cents, currency, booked_cents, moved_at,
                               recorded_at, review_reason, written_by)
SELECT {m}, gen_random_uuid(), CASE WHEN row_number % 1000 = 0 THEN 'rare' ELSE 'usual' END,
       payment_id::text, 'PAID', claim_id, payment_id, 1, 'EUR', 1, recorded_at, recorded_at,
       CASE WHEN row_number % 1000 = 0 THEN 'OTHER_AMOUNT' END, written_by
FROM (SELECT *, row_number() OVER () FROM payments WHERE merchant_id = {m}) p;
INSERT INTO payment_refunds (merchant_id, refund_id, claim_id, payment_id, request_id, amount_cents,
                             currency, effect, state, provider, actor_kind, created_at, written_by)
SELECT {m}, gen_random_uuid(), claim_id, payment_id, gen_random_uuid(), 1, 'EUR', 'REOPEN',
       'BOOKED', 'usual', 'CREDENTIAL', recorded_at, written_by
FROM payments
WHERE merchant_id = {m};
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at, written_by)
SELECT {m}, gen_random_uuid(), 1000000 + n, 'sandbox', 'sandbox', 1, 'EUR', 'x',
       CASE WHEN n % 1000 = 0 THEN 'PENDING' WHEN n % 1000 = 1 THEN 'FAILED' ELSE 'COMPLETED' END,
       timestamptz '{now}' + n * interval '1 minute', (10 + n / 1000)::text::xid8
FROM generate_series(1, {count}) n;
INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, state, amount_cents,
                                paid_before_cents, deferred_until, requested_at, actor_kind,
                                written_by, answered_at)
SELECT {m}, gen_random_uuid(), 1000000 + n, 'PAYMENT_DEFEREMENT',
       CASE WHEN n % 1000 = 0 THEN 'REQUESTED' ELSE 'APPROVED' END, 1, 0, '2026-04-01',
       timestamptz '{now}' + n * interval '1 minute', 'DEBTOR', (10 + n / 1000)::text::xid8,
       CASE WHEN n % 1000 > 0 THEN timestamptz '{now}' END
FROM generate_series(1, {count}) n;
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, settled_at, written_by)
SELECT {m}, gen_random_uuid(), 1000000 + n, 0, 1, 0,
       CASE WHEN n % 1000 = 2 THEN 'LETTER' ELSE 'EMAIL' END,
       CASE WHEN n % 1000 = 0 THEN 'UNKNOWN' WHEN n % 1000 = 1 THEN 'FAILED'
            WHEN n % 1000 = 2 THEN 'CANCELLED' ELSE 'ACCEPTED' END,
       '{now}', timestamptz '{now}' + n * interval '1 minute', '{now}',
       (10 + n / 1000)::text::xid8
FROM generate_series(1, {count}) n;
INSERT INTO suppressions (merchant_id, channel, address_digest, masked_address, reason, created_at,
                          actor_kind, written_by, key_version)
SELECT {m}, CASE WHEN n % 1000 = 0 THEN 'SMS' ELSE 'EMAIL' END, decode(md5(n::text), 'hex'),
       'x***', 'BOUNCE', timestamptz '{now}' + n * interval '1 minute', 'SYSTEM',
       (10 + n / 1000)::text::xid8, 1
FROM generate_series(1, {count}) n;
INSERT INTO disputes (merchant_id, dispute_id, claim_id, type, state, hold_id, actor_kind,
                      opened_at, resolved_at, written_by)
SELECT {m}, gen_random_uuid(), 1000000 + n, 'DEFECTIVE',
       CASE WHEN n % 100 = 0 THEN 'OPEN' ELSE 'WITHDRAWN' END, gen_random_uuid(), 'DEBTOR',
       timestamptz '{now}' + n * interval '1 minute',
       CASE WHEN n % 100 > 0 THEN timestamptz '{now}' END, (10 + n / 1000)::text::xid8
FROM generate_series(1, {count}) n;
INSERT INTO claim_search (merchant_id, claim_id, term)
SELECT {m}, 1000000 + n, unnest(ARRAY['a-' || n, 'muster', 'c-' || n / 5])
FROM generate_series(1, {count}) n;
RESET session_replication_role;
ANALYZE
"""
# One in a thousand is collected by a provider.
_FILL_DEBITS = """
SET session_replication_role = replica;
INSERT INTO mandates (merchant_id, mandate_id, claim_id, modality_id, creditor_id, reference,
                      account_sealed, account_shown, text, language, signed_at, signed_on,
                      actor_kind, state, expires_on, provider, provider_name, written_by)
SELECT {m}, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1000000 + n,
       gen_random_uuid(), 'DE98ZZZ09999999999', n::text, CASE WHEN n % 1000 > 0 THEN ''::bytea END,
       'DE', '', 'en', timestamptz '{now}' + n * interval '1 minute', '2026-03-01', 'DEBTOR',
       'ACTIVE', '2029-03-01', CASE WHEN n % 1000 = 0 THEN 'rare' END,
       CASE WHEN n % 1000 = 0 THEN 'GOCARDLESS' END, (10 + n / 1000)::text::xid8
FROM generate_series(1, {count}) n;
INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id, modality_id,
                               instalment, due_on, collected_on, amount_cents, currency, state,
                               end_to_end_id, cancel_reason, changed_at, provider, written_by)
SELECT {m}, gen_random_uuid(), mandate_id, claim_id, modality_id, 1, '2026-03-16', '2026-03-16', 1,
       'EUR', CASE WHEN claim_id % 1000 = 1 THEN 'CANCELLED' ELSE 'PLANNED' END, reference,
       CASE WHEN claim_id % 1000 = 1 THEN 'PAID' END, signed_at, provider, written_by
FROM mandates
WHERE merchant_id = {m};
RESET session_replication_role;
ANALYZE mandates, debit_collections
"""
Ask = Callable[[Work, str | None], Awaitable[Any]]
_OTHER = UUID(int=9)


@pytest.fixture(scope="module")
async def filled(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources)
    given = {
        "m": outbox.merchant.merchant_id, "now": outbox.now, "other": _OTHER,
        "workflow": UUID(int=8), "count": COUNT,
    }  # fmt: skip
    async with module_resources.database.connection() as connection:
        await connection.execute(_FILL.format(**given))
        await connection.execute(_FILL_DEBITS.format(**given))
    return outbox


def at(now: datetime, share: float) -> datetime:
    """Return the time at which this share of all rows existed."""
    return now + timedelta(minutes=COUNT * share)


def of_claims(wanted: ClaimFilter) -> Ask:
    return lambda work, cursor: list_claims(work, limit=PAGE, cursor=cursor, wanted=wanted)


def of_order(key: SortKey, *, is_descending: bool) -> Ask:
    order = ClaimOrder(key, is_descending)
    return lambda work, cursor: list_claims(work, limit=PAGE, cursor=cursor, order=order)


def list_orders(middle: dict[str, Any]) -> dict[str, Ask]:
    """Return every order in both directions. `middle` holds a time."""
    claims = {
        f"claims by {key} {goes_down}": of_order(key, is_descending=goes_down)
        for key in SortKey
        for goes_down in (False, True)
    }
    return {
        **claims,
        "payments, oldest first": lambda w, c: list_payments(
            w, limit=PAGE, cursor=c, oldest_first=True
        ),
        "payments of a time, oldest first": lambda w, c: list_payments(
            w, limit=PAGE, cursor=c, wanted=PaymentFilter(**middle), oldest_first=True
        ),
        "communications, oldest first": lambda w, c: list_communications(
            w, limit=PAGE, cursor=c, oldest_first=True
        ),
    }


def list_all_movements(middle: dict[str, Any]) -> dict[str, Ask]:
    return {
        "movements": lambda w, c: list_movements(w, limit=PAGE, cursor=c),
        "movements of a time": lambda w, c: list_movements(
            w, limit=PAGE, cursor=c, wanted=MovementFilter(**middle)
        ),
        "movements to review": lambda w, c: list_movements(
            w, limit=PAGE, cursor=c, wanted=MovementFilter(needs_review=True)
        ),
    }


def list_often_debits(middle: dict[str, Any]) -> dict[str, Ask]:
    return {
        "mandates": lambda w, c: list_all_mandates(w, limit=PAGE, cursor=c),
        "mandates of the bank": lambda w, c: list_all_mandates(
            w, limit=PAGE, cursor=c, wanted=MandateFilter("ACTIVE", by_bank=True)
        ),
        "mandates of a time": lambda w, c: list_all_mandates(
            w, limit=PAGE, cursor=c, wanted=MandateFilter(**middle)
        ),
        "debits of the bank": lambda w, c: list_collections(
            w, limit=PAGE, cursor=c, wanted=CollectionFilter(by_bank=True)
        ),
    }


def list_often(now: datetime) -> dict[str, Ask]:
    """Filters that many rows match, or that have an index."""
    middle: dict[str, Any] = {"since": at(now, 0.4), "until": at(now, 0.5)}
    paid = PaymentFilter(**middle)
    return {
        **list_orders(middle),
        **list_all_movements(middle),
        **list_often_debits(middle),
        "claims by states": of_claims(
            ClaimFilter(statuses=(Status.CREATED, Status.IN_PROCESS, Status.COLLECTED))
        ),
        "paused claims": of_claims(ClaimFilter(hold=HoldKind.PAUSE)),
        "claims of a workflow": of_claims(ClaimFilter(workflow_id=UUID(int=8))),
        "claims owing little": of_claims(ClaimFilter(max_cents=500)),
        "payments": lambda w, c: list_payments(w, limit=PAGE, cursor=c),
        "payments of a time": lambda w, c: list_payments(w, limit=PAGE, cursor=c, wanted=paid),
        "pending requests": lambda w, c: list_payment_requests(
            w, limit=PAGE, cursor=c, wanted=PaymentRequestFilter(PaymentRequestState.PENDING)
        ),
        "modalities of a time": lambda w, c: list_modalities(
            w, limit=PAGE, cursor=c, wanted=ModalityFilter(**middle)
        ),
        "modalities to answer": lambda w, c: list_modalities(
            w, limit=PAGE, cursor=c, wanted=ModalityFilter(ModalityState.REQUESTED, is_live=True)
        ),
        "communications": lambda w, c: list_communications(w, limit=PAGE, cursor=c),
        "unknown sends": lambda w, c: list_communications(
            w, limit=PAGE, cursor=c, wanted=CommunicationFilter("UNKNOWN")
        ),
        "failed communications": lambda w, c: list_communications(
            w, limit=PAGE, cursor=c, wanted=CommunicationFilter("FAILED")
        ),
        "communications of a time": lambda w, c: list_communications(
            w, limit=PAGE, cursor=c, wanted=CommunicationFilter("ACCEPTED", "EMAIL", 1, **middle)
        ),
        "suppressions": lambda w, c: list_suppressions(w, limit=PAGE, cursor=c),
        "suppressions of a time": lambda w, c: list_suppressions(
            w, limit=PAGE, cursor=c, wanted=SuppressionFilter("EMAIL", **middle)
        ),
        "open disputes": lambda w, c: list_disputes(w, limit=PAGE, cursor=c),
        "jobs": lambda w, c: list_jobs(w, limit=PAGE, cursor=c),
        "a name of all": lambda w, c: search_claims(w, "mus", limit=PAGE, cursor=c),
        "a reference": lambda w, c: search_claims(w, "A-777", limit=PAGE, cursor=c),
    }  # fmt: skip


def list_seldom(now: datetime) -> dict[str, tuple[Ask, int]]:
    """Filters that few rows match, each with the number of rows that it may read."""
    return {
        # Claims that the last transaction before this time wrote are read and skipped.
        "claims created long ago": (
            of_claims(ClaimFilter(created_since=at(now, 0.4), created_until=at(now, 0.5))),
            2 * 1_000 + MAX_READ_PER_PAGE,
        ),
        "claims of a rare workflow": (of_claims(ClaimFilter(workflow_id=_OTHER)), MAX_READ_OVERALL),
        "claims owing much": (
            of_claims(ClaimFilter(min_cents=5000)), 2 * BUDGET + MAX_READ_OVERALL,
        ),
        "disputed claims": (of_claims(ClaimFilter(hold=HoldKind.DISPUTE)), 4 * BUDGET),
        "claims that changed in an hour": (
            of_claims(ClaimFilter(updated_since=at(now, 0.5),
                                  updated_until=at(now, 0.5) + timedelta(hours=1))),
            4 * MAX_FOUND,
        ),
        "claims due in an hour": (
            of_claims(ClaimFilter(next_step_since=now + timedelta(hours=5),
                                  next_step_until=now + timedelta(hours=6))),
            4 * MAX_FOUND,
        ),
        "a customer's archived claims": (
            of_claims(ClaimFilter(customer_number="C-77", statuses=(Status.ARCHIVED,))),
            MAX_READ_PER_PAGE,
        ),
        **_list_seldom_elsewhere(),
        **_list_seldom_debits(),
    }  # fmt: skip


def _list_seldom_debits() -> dict[str, tuple[Ask, int]]:
    return {
        "mandates of a rare account": (
            lambda w, c: list_all_mandates(
                w, limit=PAGE, cursor=c, wanted=MandateFilter(account="rare")
            ),
            MAX_READ_OVERALL,
        ),
        "debits of a rare account": (
            lambda w, c: list_collections(
                w, limit=PAGE, cursor=c, wanted=CollectionFilter(account="rare")
            ),
            MAX_READ_OVERALL,
        ),
        "cancelled debits": (
            lambda w, c: list_collections(
                w, limit=PAGE, cursor=c, wanted=CollectionFilter(CollectionState.CANCELLED)
            ),
            MAX_READ_OVERALL,
        ),
    }


def _list_seldom_elsewhere() -> dict[str, tuple[Ask, int]]:
    return {
        "payments of a rare provider": (
            lambda w, c: list_payments(
                w, limit=PAGE, cursor=c, wanted=PaymentFilter(provider_name="rare")
            ), MAX_READ_OVERALL,
        ),
        "movements of a rare account": (
            lambda w, c: list_movements(
                w, limit=PAGE, cursor=c, wanted=MovementFilter(account="rare")
            ), MAX_READ_OVERALL,
        ),
        # The movements of each payment that is read are searched.
        "payments of a rare account": (
            lambda w, c: list_payments(
                w, limit=PAGE, cursor=c, wanted=PaymentFilter(account="rare")
            ), 2 * BUDGET + MAX_READ_OVERALL,
        ),
        "reversed payments": (
            lambda w, c: list_payments(w, limit=PAGE, cursor=c, wanted=PaymentFilter(True)),
            MAX_READ_OVERALL,
        ),
        "letters": (
            lambda w, c: list_communications(
                w, limit=PAGE, cursor=c, wanted=CommunicationFilter(channel="LETTER")
            ), MAX_READ_OVERALL,
        ),
        "suppressed numbers": (
            lambda w, c: list_suppressions(
                w, limit=PAGE, cursor=c, wanted=SuppressionFilter("SMS")
            ), MAX_READ_OVERALL,
        ),
        "two words": (
            lambda w, c: search_claims(w, "muster a-777", limit=PAGE, cursor=c),
            6 * SEARCH_BUDGET,
        ),
    }  # fmt: skip


async def test_no_page_reads_more_rows_than_its_limit(filled: Outbox) -> None:
    now = filled.now
    asked = {
        # A filter by time reads all rows of the transactions at its limits.
        name: (ask, MAX_READ_PER_PAGE + (2 * ROWS_AT_ONCE if " of a time" in name else 0))
        for name, ask in list_often(now).items()
    }
    asked |= list_seldom(now)
    too_much = {}
    async with filled.resources.database.transaction() as tx:
        for name, (ask, most) in asked.items():
            cursor = None
            for page in range(3):
                explaining = Explaining(tx)
                found = await ask(replace(filled.work(tx), tx=explaining), cursor)
                whole = explaining.tables_read_whole & _GROWN
                if explaining.rows_read > most or whole:
                    too_much[name, page] = explaining.rows_read, most, whole, explaining.plans
                cursor = found.next_cursor
                if cursor is None:
                    break
            assert cursor is not None or page or name in (
                "jobs", "claims that changed in an hour", "claims due in an hour",
                "a customer's archived claims", "a reference", "two words",
            ), name  # fmt: skip
    assert too_much == {}


@pytest.mark.parametrize(
    ("list_page", "index"),
    [
        (list_claim_payments, "payments_merchant_id_claim_id_transaction_id_key"),
        (list_claim_payment_requests, "payment_requests_claim"),
        (list_claim_movements, "payment_movements_claim"),
        (list_claim_refunds, "payment_refunds_claim"),
    ],
)
async def test_lists_of_one_claim_use_an_index_on_the_claim(
    filled: Outbox, list_page: Callable[..., Awaitable[Any]], index: str
) -> None:
    async with filled.resources.database.transaction() as tx:
        explaining = Explaining(tx)
        work = replace(filled.work(tx), tx=explaining)
        page = await list_page(work, 1_000_777, limit=PAGE)
        assert len(page.items) == 1
        assert explaining.rows_read <= MAX_FOUND, explaining.plans
        assert index in explaining.indexes
        assert not explaining.tables_read_whole & _GROWN


async def test_counts_read_a_limited_number_of_rows(filled: Outbox) -> None:
    async with filled.resources.database.transaction() as tx:
        for count in (
            count_claims,
            lambda work: count_claims(work, ClaimFilter(workflow_id=_OTHER)),
        ):
            explaining = Explaining(tx)
            found = await count(replace(filled.work(tx), tx=explaining))
            assert found.is_more
            assert explaining.rows_read <= MAX_READ_OVERALL, explaining.plans
            assert not explaining.tables_read_whole & _GROWN
        explaining = Explaining(tx)
        await count_attention_items(replace(filled.work(tx), tx=explaining))
        assert explaining.rows_read <= 7 * 2 * 1_100 + 4 * BUDGET, explaining.plans
        assert not explaining.tables_read_whole & _GROWN
