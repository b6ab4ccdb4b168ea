"""Pages of the audit log among 100,000 rows of a merchant use an index and read few rows."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.audit_log import AuditFilter
from dunwell.accounts.merchants.audit_log import list_audit
from dunwell.platform.resources import Resources
from tests.plans.test_list_plans import explained, fill
from tests.support.webhooks import Outbox, an_outbox

PAGE = 50
# Most rows are creations, which name only their merchant; each claim has a hundred rows.
_ROWS = """
SET session_replication_role = replica;
INSERT INTO audit_log
    (merchant_id, audit_id, at, actor_kind, actor_id, action, subject, written_by)
SELECT {merchant_id},
       (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
        || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
       at, CASE WHEN n % 100 = 0 THEN 'USER' ELSE 'CREDENTIAL' END,
       CASE WHEN n % 100 = 0 THEN 'u-' || n / 10000 ELSE 'erp' END,
       CASE WHEN n % 4 = 0 THEN 'hold.open' ELSE 'claims.create' END,
       CASE WHEN n % 4 = 0 THEN 'claim:' || n / 400 ELSE 'merchant:' || {merchant_id} END,
       (n / 200)::text::xid8
FROM generate_series(1, 100000) n, LATERAL (
    SELECT timestamptz '{now}' + n * interval '1 second' AS at) made;
RESET session_replication_role;
ANALYZE audit_log
"""


@pytest.fixture(scope="module")
async def outbox(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources)
    await fill(outbox, _ROWS)
    return outbox


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "audit_log_list"),
        ({"subject": "claim:7"}, "audit_log_list_of_subject"),
        ({"action": "hold.open"}, "audit_log_list_of_action"),
        ({"action": "claims.create"}, "audit_log_list"),
        ({"actor_kind": "USER", "actor_id": "u-7"}, "audit_log_list_of_person"),
        ({"actor_id": "erp"}, "audit_log_list"),
        ({"since": 40_000, "until": 50_000}, "audit_log_list"),
        ({"subject": "claim:7", "since": 10}, "audit_log_list_of_subject"),
    ],
)
async def test_a_page_of_the_audit_log_uses_an_index_and_reads_few_rows(
    outbox: Outbox, wanted: dict[str, Any], index: str
) -> None:
    given: dict[str, Any] = {
        name: outbox.now + timedelta(seconds=value) if isinstance(value, int) else value
        for name, value in wanted.items()
    }
    async with outbox.resources.database.connection() as tx:
        work, explaining = explained(outbox, tx)
        page = await list_audit(work, limit=PAGE, wanted=AuditFilter(**given))
        assert len(page.items) == PAGE
        assert page.next_cursor is not None
        await list_audit(work, limit=PAGE, cursor=page.next_cursor, wanted=AuditFilter(**given))
    # The rows of the page are read by primary key.
    assert explaining.indexes - {"audit_log_pkey", "epochs_pkey"} == {index}
    assert explaining.tables_read_whole <= {"epochs"}
    # A filter by time also reads the hour by which rows can be late.
    most = 9 * PAGE if "until" not in wanted else 2 * 3_600 + 8 * PAGE
    assert explaining.rows_read <= most, (explaining.rows_read, explaining.plans)
