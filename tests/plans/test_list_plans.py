"""Lists and due rows among very many are found by indexes; a page reads few more rows than it
shows."""

from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.disputes.list_disputes import list_claim_disputes
from dunwell.cases.modalities.list_modalities import list_claim_modalities
from dunwell.contact.messages.communications.list_communications import list_claim_communications
from dunwell.core.claims.access import get_claim
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.states import Status
from dunwell.core.events.webhooks.store import lease_deliveries, list_due_endpoints
from dunwell.core.files.read_attachments import list_attachments
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.resources import Resources
from tests.support.crowded_claim import PARTS
from tests.support.plans import Explaining, rolled_back_transaction
from tests.support.webhooks import Outbox, an_outbox

COUNT, PARTS_OF_ONE, PAGE = 100_000, 3000, 50
# The claims of a page, each with its debtor and item, and some more.
MAX_READ = 10 * PAGE
# A thousand claims in each transaction, a minute apart, each changed some days later; one in a
# hundred withdrawn; five for each customer.
_CLAIMS = """
SET session_replication_role = replica;
INSERT INTO claims (merchant_id, claim_id, reference_number, currency, status, created_at,
                    updated_at, written_by)
SELECT {merchant_id}, 1000000 + n, 'A-' || n, 'EUR',
       CASE WHEN n % 100 = 0 THEN 'WITHDRAWN' ELSE 'IN_PROCESS' END,
       timestamptz '{now}' + n * interval '1 minute',
       timestamptz '{now}' + n * interval '1 minute' + n % 7 * interval '1 day',
       (10 + n / 1000)::text::xid8
FROM generate_series(1, 100000) n;
INSERT INTO debtors (merchant_id, claim_id, last_name, customer_number)
SELECT {merchant_id}, 1000000 + n, 'Muster', 'C-' || n / 5 FROM generate_series(1, 100000) n;
INSERT INTO items (merchant_id, claim_id, position, type, value_cents)
SELECT {merchant_id}, 1000000 + n, 0, 'PRIMARY', 100 FROM generate_series(1, 100000) n;
RESET session_replication_role;
ANALYZE claims, debtors, items
"""
_PARTS = f"""
SET session_replication_role = replica;
{PARTS};
RESET session_replication_role;
ANALYZE
"""
# All deliveries of these endpoints are due; a tenth of them are replayed.
_DELIVERIES = """
SET session_replication_role = replica;
INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types, secret_sealed, created_at)
SELECT {merchant_id}, gen_random_uuid(), 'https://hooks.example.org/' || n, '{{*}}', '',
       '{now}'
FROM generate_series(1, 10) n;
INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)
SELECT {merchant_id}, gen_random_uuid(), {claim_id}, n, 'ESCALATED', '{now}', '{{}}'
FROM generate_series(1, 10000) n;
INSERT INTO deliveries (merchant_id, endpoint_id, event_id, due_at, is_replay)
SELECT {merchant_id}, endpoint_id, event_id, timestamptz '{now}' - interval '1 hour',
       sequence % 10 = 0
FROM webhook_endpoints JOIN events USING (merchant_id)
WHERE merchant_id = {merchant_id};
RESET session_replication_role;
ANALYZE webhook_endpoints, events, deliveries
"""


async def fill(outbox: Outbox, script: str, **given: Any) -> None:
    given |= {"merchant_id": outbox.merchant.merchant_id, "claim_id": outbox.claim_id}
    async with outbox.resources.database.connection() as connection:
        await connection.execute(script.format(now=outbox.now, **given))


def explained(outbox: Outbox, tx: Connection) -> tuple[Work, Explaining]:
    explaining = Explaining(tx)
    return replace(outbox.work(tx), tx=explaining), explaining


@pytest.fixture(scope="module")
async def many_claims(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources, "claims")
    await fill(outbox, _CLAIMS)
    return outbox


@pytest.fixture(scope="module")
async def many_parts(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources, "parts")
    await fill(outbox, _PARTS, size=PARTS_OF_ONE, ticket_id=UUID(int=1))
    return outbox


@pytest.fixture(scope="module")
async def many_deliveries(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources, "deliveries")
    await fill(outbox, _DELIVERIES)
    return outbox


def list_filters(outbox: Outbox) -> list[ClaimFilter]:
    """Each filter and every pair of filters, with a long and a short period for status and time."""
    half, end = (outbox.now + timedelta(minutes=COUNT * share) for share in (0.5, 1))
    single: list[dict[str, Any]] = [
        {"reference_number": "A-77"}, {"customer_number": "C-77"},
        {"status": Status.IN_PROCESS}, {"status": Status.WITHDRAWN}, {"status": Status.ARCHIVED},
        {"updated_since": half}, {"updated_since": end + timedelta(days=6) - timedelta(minutes=99)},
    ]  # fmt: skip
    pairs = [{**one, **other} for one, other in combinations(single, 2)]
    return [ClaimFilter(**given) for given in ({}, *single, *pairs)]


async def test_a_page_of_claims_reads_no_more_than_a_few_pages(many_claims: Outbox) -> None:
    async with many_claims.resources.database.transaction() as tx:
        middle = (await list_claims(many_claims.work(tx), limit=COUNT // 4)).next_cursor
        for wanted in list_filters(many_claims):
            for cursor in (None, middle):
                work, explaining = explained(many_claims, tx)
                await list_claims(work, limit=PAGE, cursor=cursor, wanted=wanted)
                assert explaining.rows_read <= MAX_READ, (wanted, cursor, explaining.plans)
                grown = {"claims", "debtors", "items"}
                assert not explaining.tables_read_whole & grown, (wanted, explaining.plans)


async def test_one_claim_is_read_by_its_keys(many_claims: Outbox) -> None:
    async with many_claims.resources.database.transaction() as tx:
        work, explaining = explained(many_claims, tx)
        await get_claim(work, 1_000_077)
    assert explaining.rows_read <= 10
    assert not explaining.tables_read_whole & {"claims", "debtors", "items"}


@pytest.mark.parametrize(
    ("read", "most_read"),
    [
        (list_claim_disputes, MAX_READ),
        # Each amount is summed from the payments of the claim and their movements, which are few
        # too. The planner may read them once for all plans.
        (list_claim_modalities, 2 * (PAGE + 1) * PARTS_OF_ONE + MAX_READ),
        (list_attachments, MAX_READ),
        # The few communications of the claim are sorted; no lookup depends on all communications.
        (list_claim_communications, PARTS_OF_ONE + MAX_READ),
    ],
)
async def test_a_page_of_one_claims_details_reads_no_more_than_a_few_pages(
    many_parts: Outbox, read: Any, most_read: int
) -> None:
    outbox = many_parts
    async with outbox.resources.database.transaction() as tx:
        cursor = None
        for _ in range(2):
            work, explaining = explained(outbox, tx)
            page = await read(work, outbox.claim_id, limit=PAGE, cursor=cursor)
            cursor = page.next_cursor
            assert explaining.rows_read <= most_read, explaining.reads
            assert cursor is not None or read is list_attachments


async def test_due_deliveries_are_found_and_leased_by_an_index(many_deliveries: Outbox) -> None:
    outbox = many_deliveries
    async with rolled_back_transaction(outbox.resources.database) as tx:
        explaining = Explaining(tx)
        endpoints = await list_due_endpoints(explaining, outbox.now, (0, UUID(int=0)), 400)
        assert len(endpoints) == 10
        assert explaining.rows_read <= 3 * len(endpoints), explaining.plans

        until = outbox.now + timedelta(minutes=1)
        lease = Lease(UUID(int=1), until)
        explaining = Explaining(tx)
        leased = await lease_deliveries(explaining, endpoints[0], lease, now=outbox.now, size=PAGE)
    assert len(leased) == PAGE
    assert explaining.rows_read <= MAX_READ, explaining.plans
    assert not explaining.tables_read_whole & {"deliveries", "events"}, explaining.plans
