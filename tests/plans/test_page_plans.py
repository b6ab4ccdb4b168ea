"""Every first page of the portal and every search on the data of the benchmark: no statement reads
a whole growing table or index, with a plan for its values or with a generic plan.

`make contract` runs this test separately, because it leaves larger tables than the other tests of
plans expect.

The limits on rows are the same as for a million claims. A query without a suitable index reads a
table although sequential scans are disabled, or scans another index completely.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench.crowd import Crowd, fill_crowd
from bench.environment import Ground
from bench.portal import Portal, load_known, open_portal, read_page
from bench.portal_pages import list_pages

from dunwell.cases.rollout import workflow_overviews
from dunwell.core.claims.lists import store as lists_store
from dunwell.core.claims.lists.list_claims import CLAIMS
from dunwell.core.claims.searching import store as searching
from dunwell.operations.dashboards import overview
from dunwell.platform.database import listed_table
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources

ROWS, GROWN = 40_000, 2_000
NO_WHOLE_TABLES = "enable_seqscan = off"
# The rows of a page, of its count and of the search for the end of both, for a list and for the
# rows that belong to it.
MAX_READ = 2_600
# The start page counts eleven kinds of items. A fifth of the claims changed at the same instant and
# are sorted. All claims are counted up to a thousand.
MORE = {"start", "claims", "claims: by the greatest changed", "claims: of a rare status, by change"}
# Index -> the page that needs it. The page uses the index with every plan.
INDEXES = {
    "claims_list": "claims",
    "claims_by_status": "claims: status WITHDRAWN",
    "claims_due": "claims: next step tomorrow",
    "claims_held": "claims: hold MODALITY_REQUESTED",
    "claim_search_terms": "search: a last name, few",
    "communications_list": "messages",
    "communications_unknown_list": "messages: UNKNOWN",
    "communications_failed_list": "messages: FAILED",
    "communications_failed_settled": "start",
    "delivery_attempts_by_time": "webhooks",
    "disputes_by_state": "disputes: WITHDRAWN",
    "disputes_open_list": "disputes",
    "installation_audit_subject": "people: what was done to one",
    "payments_list": "payments",
    "payment_movements_pkey": "a payout",
    "provider_payouts_list": "payouts",
    "provider_payouts_merchant_id_record_id_key": "a payout",
    "payment_movements_review": "movements that need review",
    "bank_files_list": "a bank account",
    "bank_statements_list": "a bank account",
    "bank_entries_statement": "a bank statement",
    "bank_matches_transaction": "a bank statement",
    "bank_transactions_open": "open entries",
    "payment_requests_list": "payment requests",
    "payment_modalities_list": "plans: all",
    "payment_modalities_requested": "plans",
    "suppressions_list": "suppressions",
    "claims_running": "processes",
    "inbound_sms_unread": "unmatched messages",
    "delivery_reports_unread": "unmatched reports",
    "letter_batch_items_failed": "a letter batch: what did not arrive",
    "letter_batch_items_doubted": "letters with an unknown outcome",
    "audit_log_list_of_subject": "a disputed claim",
    "claim_notes_claim": "a disputed claim",
    "debtor_notices_claim": "a disputed claim",
}


@pytest.fixture
def ground(resources: Resources, postgres: EmbeddedPostgres, tmp_path: Path) -> Ground:
    return Ground(tmp_path, postgres, 0, resources.settings, resources.database)


@pytest.fixture
async def crowd(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    monkeypatch.setattr(listed_table, "BUDGET", 300)
    monkeypatch.setattr(lists_store, "MAX_FOUND", 200)
    for name, budget in {"min_cents": 100, "max_cents": 100, "hold": 150}.items():
        monkeypatch.setitem(CLAIMS.budgets, name, budget)
    monkeypatch.setattr(searching, "BUDGET", 100)
    monkeypatch.setattr(overview, "MAX_NEWEST", 300)
    monkeypatch.setattr(overview, "MAX_CLAIMS", 100)
    monkeypatch.setattr(workflow_overviews, "MAX_COUNTED_CLAIMS", 300)
    return await fill_crowd(ground, ROWS, keeps_indexes=True)


@pytest.fixture
async def portal(ground: Ground, crowd: Crowd) -> AsyncIterator[Portal]:
    async with open_portal(ground, crowd) as portal:
        yield portal


async def test_no_portal_page_scans_a_whole_table_or_index(portal: Portal, crowd: Crowd) -> None:
    pages = list_pages(await load_known(portal.database, crowd))
    readings = {each.name: await read_page(portal, each, GROWN, NO_WHOLE_TABLES) for each in pages}
    assert len(readings) > 130
    assert {name: each.scans for name, each in readings.items() if each.scans} == {}
    assert {name for name, each in readings.items() if each.rows > MAX_READ} <= MORE
    unused = {index for index, page in INDEXES.items() if index not in readings[page].indexes}
    assert unused == set()
