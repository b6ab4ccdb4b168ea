"""The SQL of lists over all of a merchant's disputes, and of those that wait: rows in, values out,
no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.accounts.users.assignee import EVERYBODYS, Whose
from dunwell.accounts.users.store_colleagues import ABLE, ANSWERING
from dunwell.cases.disputes.dispute import Dispute, DisputeState
from dunwell.cases.disputes.store import COLUMNS, read_dispute
from dunwell.platform.database.database import Connection
from dunwell.platform.database.epochs import SETTLED_BEFORE
from dunwell.platform.database.sql import Conditions, compose

# Newest first. Rides on disputes_list, of those that are open on disputes_open_list, of those that
# ended in one way on disputes_by_state; then on a primary key.
_LOAD = """
SELECT {columns}, d.written_by::text AS written_by,
       (SELECT c.reference_number FROM claims c
        WHERE c.merchant_id = $1 AND c.claim_id = d.claim_id) AS reference_number
FROM disputes d
WHERE d.merchant_id = $1
{filters}
ORDER BY d.written_by DESC, d.dispute_id DESC
LIMIT $2
"""
_HELD_BACK = f"d.written_by < {SETTLED_BEFORE}"
_BEHIND = "(d.written_by, d.dispute_id) < ({}::text::xid8, {}::uuid)"
# Rides on disputes_open_list; then on primary keys.
_LOAD_WAITING = """
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
_COUNT_WAITING = """
SELECT count(*)
FROM (SELECT FROM disputes WHERE merchant_id = $1 AND state = 'OPEN' LIMIT $2) counted
"""


@dataclass(frozen=True, slots=True)
class DisputePlace:
    """Behind the dispute that this transaction wrote."""

    written_by: int
    dispute_id: UUID


@dataclass(frozen=True, slots=True)
class DisputeFilter:
    """Which disputes to list; all that is given must hold."""

    state: DisputeState | None = None
    opened_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ListedDispute:
    place: DisputePlace
    dispute: Dispute
    reference_number: str


async def load_page(
    tx: Connection, merchant_id: int, *, limit: int, place: DisputePlace | None,
    wanted: DisputeFilter,
) -> Sequence[ListedDispute]:  # fmt: skip
    conditions = Conditions(merchant_id, limit)
    if place is None:
        conditions.add(_HELD_BACK)
    else:
        # Nothing behind a place is held back.
        conditions.add(_BEHIND, str(place.written_by), place.dispute_id)
    if wanted.state is DisputeState.OPEN:
        conditions.add("d.state = 'OPEN'")
    elif wanted.state is not None:
        conditions.add("d.state = {} AND d.state <> 'OPEN'", wanted.state)
    if wanted.opened_before is not None:
        conditions.add("d.opened_at < {}", wanted.opened_before)
    statement = compose(_LOAD, columns=COLUMNS, filters=conditions.render())
    listed = []
    for row in await tx.fetch(statement, *conditions.values):
        values = dict(row)
        written_by, reference = int(values.pop("written_by")), values.pop("reference_number")
        place = DisputePlace(written_by, row["dispute_id"])
        listed.append(ListedDispute(place, read_dispute(values), reference))
    return listed


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
    statement = compose(_LOAD_WAITING, settled=SETTLED_BEFORE, filters=conditions.render())
    rows = await tx.fetch(statement, *conditions.values)
    return [WaitingRow(**row) for row in rows]


async def count_waiting(tx: Connection, merchant_id: int, most: int) -> int:
    count: int = await tx.fetchval(_COUNT_WAITING, merchant_id, most)
    return count
