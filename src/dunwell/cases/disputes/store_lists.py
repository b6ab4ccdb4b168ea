"""The SQL of what lists of disputes show: rows in, values out, no rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.users.assignee import Assignee
from dunwell.accounts.users.store import find_assignees
from dunwell.cases.disputes.dispute import Dispute
from dunwell.cases.disputes.evidence import EvidenceFile
from dunwell.cases.disputes.evidence_store import load_evidence
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.cases.disputes.store import COLUMNS, read_dispute
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# By primary keys, as the next.
_LOAD = compose(
    """
SELECT {columns},
       (SELECT c.reference_number FROM claims c
        WHERE c.merchant_id = $1 AND c.claim_id = d.claim_id) AS reference_number
FROM disputes d
WHERE d.merchant_id = $1 AND d.dispute_id = ANY($2::uuid[])
""",
    columns=COLUMNS,
)
_LOAD_WAITING = """
SELECT d.dispute_id, d.assignee_id, d.claim_id, d.type, d.label, d.message, d.opened_at,
       c.reference_number, c.currency,
       coalesce(nullif(concat_ws(' ', nullif(n.first_name, ''), nullif(n.last_name, '')), ''),
                n.company_name, '') AS name,
       (SELECT coalesce(sum(i.value_cents), 0)::bigint FROM items i
        WHERE i.merchant_id = $1 AND i.claim_id = d.claim_id)
       - (SELECT coalesce(sum(a.amount_cents), 0)::bigint FROM allocations a
          WHERE a.merchant_id = $1 AND a.claim_id = d.claim_id) AS outstanding_cents,
       (SELECT count(*) FROM dispute_files f
        WHERE f.merchant_id = $1 AND f.dispute_id = d.dispute_id) AS files
FROM disputes d
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = d.claim_id
JOIN debtors n ON n.merchant_id = $1 AND n.claim_id = d.claim_id
WHERE d.merchant_id = $1 AND d.dispute_id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class ListedDispute:
    """A dispute with its claim's reference and its files."""

    dispute: Dispute
    reference_number: str
    files: Sequence[EvidenceFile] = ()


@dataclass(frozen=True, slots=True)
class WaitingDispute:
    """An open dispute, with what a person needs to choose the next one. name: the debtor's."""

    dispute_id: UUID
    claim_id: int
    type: DisputeType
    label: str | None
    message: str | None
    opened_at: datetime
    reference_number: str
    currency: str
    name: str
    outstanding_cents: int
    files: int
    assignee: Assignee | None


async def load_listed_disputes(
    tx: Connection, merchant_id: int, dispute_ids: Sequence[UUID]
) -> Mapping[UUID, ListedDispute]:
    """By id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(dispute_ids))
    files = await load_evidence(tx, merchant_id, dispute_ids)
    found = {}
    for row in rows:
        values, dispute_id = dict(row), row["dispute_id"]
        reference = values.pop("reference_number")
        found[dispute_id] = ListedDispute(
            read_dispute(values), reference, files.get(dispute_id, ())
        )
    return found


async def load_waiting_disputes(
    tx: Connection, merchant_id: int, dispute_ids: Sequence[UUID]
) -> Mapping[UUID, WaitingDispute]:
    """By id."""
    rows = await tx.fetch(_LOAD_WAITING, merchant_id, list(dispute_ids))
    given = {row["assignee_id"] for row in rows if row["assignee_id"]}
    people = await find_assignees(tx, merchant_id, given) if given else {}
    found = {}
    for row in rows:
        values = dict(row)
        assignee = people.get(values.pop("assignee_id"))
        values["type"] = DisputeType(row["type"])
        found[row["dispute_id"]] = WaitingDispute(**values, assignee=assignee)
    return found
