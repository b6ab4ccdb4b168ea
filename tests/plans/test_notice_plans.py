"""The few relevant notices among very many are found by indexes."""

from datetime import timedelta

import pytest

from dunwell.contact.messages.identities import digest_installation_address
from dunwell.contact.notices.notice import NoticeKind
from dunwell.contact.notices.store import (
    MerchantChannel,
    erase_notices,
    lease_notices,
    list_request_times,
    list_request_times_of_address,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.leases import Lease
from dunwell.platform.resources import Resources
from tests.support.notices import NoticeHarness, a_notice_harness
from tests.support.plans import Explaining, fill, rolled_back_transaction

COUNT, FEW = 50_000, 5
# The notices ended over a year; all but a few are erased.
_FILL = f"""
INSERT INTO debtor_notices
    (merchant_id, notice_id, claim_id, kind, channel, recipient, language, body_text, state,
     dated_at, created_at, expires_at, settled_at, recipient_digest)
SELECT $1, gen_random_uuid(), $2, 'RECEIPT', 'EMAIL', CASE WHEN n <= {FEW} THEN 'a@b.example' END,
    'de', CASE WHEN n <= {FEW} THEN 'Text' END, 'ACCEPTED', at, at, at, at,
    sha256(n::text::bytea)
FROM generate_series(1, {COUNT}) n, LATERAL (SELECT $3::timestamptz - n * interval '10 min') t (at)
"""


@pytest.fixture(scope="module")
async def notice_harness(module_resources: Resources, lasting_clock: MovableClock) -> NoticeHarness:
    notice_harness = await a_notice_harness(module_resources, lasting_clock)
    for _ in range(FEW):
        await notice_harness.request()
    long_ago = lasting_clock.now() - timedelta(days=8)
    given = notice_harness.harness.merchant.merchant_id, notice_harness.claim_id, long_ago
    await fill(module_resources.database, _FILL, *given, tables="debtor_notices")
    return notice_harness


async def test_due_notices_are_leased_by_an_index(notice_harness: NoticeHarness) -> None:
    resources = notice_harness.harness.resources
    now = resources.clock.now()
    lease = Lease(resources.ids.new(now), now + timedelta(seconds=90))
    async with rolled_back_transaction(resources.database) as tx:
        explaining = Explaining(tx)
        busy: dict[MerchantChannel, int] = {(notice_harness.harness.merchant.merchant_id, "SMS"): 1}
        leased = await lease_notices(explaining, now, lease, busy, channel_limit=8, limit=64)
    assert len(leased) == FEW
    assert "debtor_notices_due" in explaining.indexes, explaining.plans
    assert explaining.tables_read_whole == set(), explaining.plans


async def test_recent_requests_of_a_claim_use_an_index(notice_harness: NoticeHarness) -> None:
    resources = notice_harness.harness.resources
    since = resources.clock.now() - timedelta(hours=1)
    async with resources.database.connection() as connection:
        explaining = Explaining(connection)
        merchant_id = notice_harness.harness.merchant.merchant_id
        asked = await list_request_times(
            explaining, merchant_id, notice_harness.claim_id, NoticeKind.CODE, since
        )
    assert len(asked) == FEW
    assert explaining.indexes == {"debtor_notices_claim"}, explaining.plans
    assert explaining.rows_read == FEW, explaining.plans


async def test_recent_requests_for_an_address_use_an_index(notice_harness: NoticeHarness) -> None:
    resources = notice_harness.harness.resources
    digests = digest_installation_address(resources.keys, "EMAIL", "erika@example.org")
    since = resources.clock.now() - timedelta(days=1)
    async with resources.database.transaction() as tx:
        explaining = Explaining(tx)
        asked = await list_request_times_of_address(explaining, digests, since)
    assert len(asked) == FEW
    assert explaining.indexes == {"debtor_notices_recipient"}, explaining.plans
    assert explaining.rows_read == FEW, explaining.plans


async def test_notices_to_erase_are_found_by_an_index(notice_harness: NoticeHarness) -> None:
    resources = notice_harness.harness.resources
    async with rolled_back_transaction(resources.database) as tx:
        explaining = Explaining(tx)
        assert await erase_notices(explaining, resources.clock.now(), 100) == FEW
    assert "debtor_notices_settled" in explaining.indexes, explaining.plans
    assert explaining.tables_read_whole == set(), explaining.plans
