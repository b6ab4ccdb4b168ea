"""The SQL of lists over all of a merchant's disputes: rows in, values out, no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.disputes.dispute import Dispute, DisputeState
from dunwell.disputes.store import COLUMNS, read_dispute
from dunwell.kit.db import Connection
from dunwell.kit.epochs import SETTLED_BEFORE
from dunwell.kit.sql import Conditions, compose

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
