"""The SQL of the inbox of reports: each is kept once, as it came."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.report import Cause, Reference, Report, ReportState
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import in_sets
from dunwell.platform.ids import Ids

# Real time. What came before is not kept twice, in whichever order sets name it.
_SAVE = """
INSERT INTO channel_reports
    (report_id, line, provider_id, state, happened_at, merchant_id, communication_id, reason, cause,
     destination, raw, is_proven, received_at, due_at)
SELECT report.*, $13::timestamptz, $13::timestamptz
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[],
    $7::uuid[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::boolean[]
) AS report (report_id, line, provider_id, state, happened_at, merchant_id, communication_id,
    reason, cause, destination, raw, is_proven)
ORDER BY line, provider_id, state, happened_at
ON CONFLICT ON CONSTRAINT channel_reports_once DO NOTHING
RETURNING report_id
"""
# By channel_reports_of_message.
_COUNT = """
SELECT merchant_id, communication_id, count(*) AS reports
FROM channel_reports
WHERE (merchant_id, communication_id) IN (SELECT * FROM unnest($1::integer[], $2::uuid[]))
GROUP BY merchant_id, communication_id
"""
# By channel_reports_unmatched, and channel_reports_due for those nobody has looked at yet.
_COUNT_STRANGE = """
SELECT (SELECT count(*) FROM (SELECT FROM channel_reports
                              WHERE outcome = 'UNMATCHED' AND received_at > $1 LIMIT $2) known)
     + (SELECT count(*) FROM (SELECT FROM channel_reports
                              WHERE due_at IS NOT NULL AND communication_id IS NULL
                              LIMIT $2) waiting)
"""
# By channel_reports_due.
_LOCK_DUE = """
SELECT report_id, line, merchant_id, communication_id, state, reason, cause, received_at, is_proven
FROM channel_reports
WHERE due_at <= $1
ORDER BY due_at
LIMIT $2
FOR UPDATE SKIP LOCKED
"""
_SETTLE = """
UPDATE channel_reports SET due_at = $2, outcome = $3, handled_at = $4 WHERE report_id = $1
"""
_SETTLE_MANY = """
UPDATE channel_reports r SET due_at = $3, outcome = n.outcome, handled_at = $4
FROM unnest($1::uuid[], $2::text[]) AS n (report_id, outcome)
WHERE r.report_id = n.report_id
"""
_SWEEP = """
DELETE FROM channel_reports
WHERE report_id IN (SELECT report_id FROM channel_reports
                    WHERE received_at < $1 AND due_at IS NULL
                    ORDER BY received_at LIMIT $2)
"""


class WaitingReport(msgspec.Struct, frozen=True, gc=False):
    report_id: UUID
    line: str
    reference: Reference | None
    state: ReportState
    reason: str
    cause: Cause
    received_at: datetime
    is_proven: bool


async def save_report(tx: Connection, report: Report, *, real_now: datetime, ids: Ids) -> bool:
    """Whether it is new. Once this is committed, it may be confirmed to whoever brought it."""
    return await save_reports(tx, [report], real_now=real_now, ids=ids) == 1


async def save_reports(
    tx: Connection, reports: Sequence[Report], *, real_now: datetime, ids: Ids
) -> int:
    """The same of any number; how many are new."""
    return sum([await _save_set(tx, each, real_now, ids) for each in in_sets(reports)])


async def _save_set(tx: Connection, reports: Sequence[Report], real_now: datetime, ids: Ids) -> int:
    named = [each.reference for each in reports]
    saved = await tx.fetch(
        _SAVE,
        [ids.new(real_now) for _ in reports],
        [each.line for each in reports],
        [each.provider_id for each in reports],
        [each.state for each in reports],
        [each.happened_at for each in reports],
        [each and each.merchant_id for each in named],
        [each and each.communication_id for each in named],
        [each.reason for each in reports],
        [each.cause for each in reports],
        [each.destination for each in reports],
        [each.raw for each in reports],
        [each.is_proven for each in reports],
        real_now,
    )
    return len(saved)


async def count_reports(tx: Connection, references: Collection[Reference]) -> Counter[Reference]:
    """Of each of these messages."""
    merchant_ids = [each.merchant_id for each in references]
    communication_ids = [each.communication_id for each in references]
    rows = await tx.fetch(_COUNT, merchant_ids, communication_ids)
    return Counter(
        {Reference(row["merchant_id"], row["communication_id"]): row["reports"] for row in rows}
    )


async def count_strange(tx: Connection, since: datetime, most: int) -> int:
    """Of nothing of ours, received since; of more than `most` not all."""
    count: int = await tx.fetchval(_COUNT_STRANGE, since, most)
    return count


async def lock_due_reports(
    tx: Connection, real_now: datetime, limit: int
) -> Sequence[WaitingReport]:
    """Those somebody else is at are left to them."""
    return [
        WaitingReport(
            report_id=row["report_id"],
            line=row["line"],
            reference=(
                None
                if row["merchant_id"] is None
                else Reference(row["merchant_id"], row["communication_id"])
            ),
            state=row["state"],
            reason=row["reason"],
            cause=row["cause"],
            received_at=row["received_at"],
            is_proven=row["is_proven"],
        )
        for row in await tx.fetch(_LOCK_DUE, real_now, limit)
    ]


async def settle_report(
    tx: Connection, report_id: UUID, outcome: str, *, real_now: datetime, due_at: datetime | None
) -> None:
    """due_at: when it is looked at again; none: it is settled."""
    handled_at = real_now if due_at is None else None
    await tx.execute(_SETTLE, report_id, due_at, outcome, handled_at)


async def settle_reports(
    tx: Connection, settled: Sequence[tuple[WaitingReport, str]], *, real_now: datetime,
    due_at: datetime | None = None,
) -> None:  # fmt: skip
    """The same of many, each with its outcome."""
    if settled:
        ids = [each.report_id for each, _ in settled]
        outcomes = [outcome for _, outcome in settled]
        handled_at = real_now if due_at is None else None
        await tx.execute(_SETTLE_MANY, ids, outcomes, due_at, handled_at)


async def sweep_reports(tx: Connection, before: datetime, limit: int) -> int:
    """Takes out those received before; how many."""
    return int((await tx.execute(_SWEEP, before, limit)).split()[-1])
