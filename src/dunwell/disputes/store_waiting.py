"""The SQL of the disputes that wait for an answer: rows in, values out, no rules."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.kit.db import Connection
from dunwell.kit.epochs import SETTLED_BEFORE
from dunwell.kit.sql import Conditions, compose
from dunwell.people.assignee import EVERYBODYS, Whose
from dunwell.people.store_colleagues import ABLE, ANSWERING

# Rides on disputes_open_list; then on primary keys.
_LOAD = """
SELECT d.dispute_id, d.assignee_id, d.claim_id, d.type, d.label, d.message, d.opened_at,
       d.written_by::text AS written_by, c.reference_number, c.currency, n.first_name, n.last_name,
       n.company_name,
       (SELECT coalesce(sum(i.value_cents), 0)::bigint FROM items i
        WHERE i.merchant_id = $1 AND i.claim_id = d.claim_id)
       - (SELECT coalesce(sum(a.amount_cents), 0)::bigint FROM allocations a
          WHERE a.merchant_id = $1 AND a.claim_id = d.claim_id) AS outstanding_cents,
       (SELECT count(*) FROM dispute_files f
        WHERE f.merchant_id = $1 AND f.dispute_id = d.dispute_id) AS files
FROM disputes d
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = d.claim_id
JOIN debtors n ON n.merchant_id = $1 AND n.claim_id = d.claim_id
WHERE d.merchant_id = $1 AND d.state = 'OPEN'
  AND (d.written_by, d.dispute_id) > ($2::text::xid8, $3::uuid) AND d.written_by < {settled}
{filters}
ORDER BY d.written_by, d.dispute_id
LIMIT $4
"""
# By primary keys; those that are open are thousands at most.
_NOBODYS = compose(
    "NOT EXISTS (SELECT FROM users u WHERE u.user_id = d.assignee_id AND {able})",
    able=compose(ABLE, merchant="d.merchant_id", roles="{}::text[]"),
)
_COUNT = """
SELECT count(*)
FROM (SELECT FROM disputes WHERE merchant_id = $1 AND state = 'OPEN' LIMIT $2) counted
"""


class WaitingRow(msgspec.Struct, frozen=True, gc=False):
    """`written_by`: the number of the writing transaction."""

    dispute_id: UUID
    assignee_id: UUID | None
    claim_id: int
    type: str
    label: str | None
    message: str | None
    opened_at: datetime
    written_by: str
    reference_number: str
    currency: str
    first_name: str | None
    last_name: str | None
    company_name: str | None
    outstanding_cents: int
    files: int


async def load_waiting(
    tx: Connection, merchant_id: int, place: tuple[int, UUID], *, limit: int,
    whose: Whose = EVERYBODYS,
) -> Sequence[WaitingRow]:  # fmt: skip
    """Those behind this place, the oldest first."""
    written_by, last_id = place
    conditions = Conditions(merchant_id, str(written_by), last_id, limit)
    if whose.is_nobodys:
        conditions.add(_NOBODYS, ANSWERING, ANSWERING)
    elif whose.user_id is not None:
        conditions.add("d.assignee_id = {}", whose.user_id)
    statement = compose(_LOAD, settled=SETTLED_BEFORE, filters=conditions.render())
    rows = await tx.fetch(statement, *conditions.values)
    return [WaitingRow(**row) for row in rows]


async def count_waiting(tx: Connection, merchant_id: int, most: int) -> int:
    count: int = await tx.fetchval(_COUNT, merchant_id, most)
    return count
