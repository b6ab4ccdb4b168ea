"""The SQL of the test clock: its time, what is due next, and counts of what was done."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.sql import compose
from dunwell.platform.ids import uuid7

# The clock only moves forwards, also when two requests move it at once.
_MOVE_CLOCK = """
UPDATE merchants SET sandbox_now = $2 WHERE merchant_id = $1 AND sandbox_now < $2
"""
# Uses claims_due, communications_planned, holds_end, payment_modalities_check, mandates_check and
# communications_handed_over. A contact that is handed over without an answer is in progress, here
# or in a worker.
_LOAD_DUE_TIMES = """
SELECT
    (SELECT min(due_at) FROM claims
     WHERE merchant_id = $1 AND due_at IS NOT NULL AND NOT held) AS claim_at,
    (SELECT m.not_before FROM communications m
     JOIN claims c ON c.merchant_id = m.merchant_id AND c.claim_id = m.claim_id
     WHERE m.merchant_id = $1 AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING')
       AND NOT c.held
     ORDER BY m.not_before LIMIT 1) AS contact_at,
    (SELECT min(until) FROM holds
     WHERE merchant_id = $1 AND lifted_at IS NULL AND until IS NOT NULL) AS hold_ends_at,
    (SELECT min(check_at) FROM payment_modalities
     WHERE merchant_id = $1 AND check_at IS NOT NULL AND ended_at IS NULL) AS modality_at,
    (SELECT min(check_at) FROM mandates
     WHERE merchant_id = $1 AND check_at IS NOT NULL) AS mandate_at,
    EXISTS (SELECT FROM communications
            WHERE merchant_id = $1 AND state = 'HANDED_OVER') AS is_sending
"""
# The audit log records what ran here and in workers. Uses the primary key, whose ids begin with the
# merchant's time.
_BEGIN_COUNT = compose(
    """
SELECT ({written_by})::text AS transaction,
       coalesce(sum((details->>'steps')::integer), 0) AS steps
FROM audit_log
WHERE merchant_id = $1 AND audit_id >= $2 AND action = 'escalation.run'
""",
    written_by=WRITTEN_BY,
)
# Uses the primary key, too, and events_list.
_COUNT = """
SELECT coalesce(sum((details->>'steps')::integer), 0) - $3 AS steps,
       (SELECT count(sequence) FROM events
        WHERE merchant_id = $1 AND written_by > $4::text::xid8) AS events
FROM audit_log
WHERE merchant_id = $1 AND audit_id >= $2 AND action = 'escalation.run'
"""


@dataclass(frozen=True, slots=True)
class DueTimes:
    """When the next thing of each kind is due. The time may be in the past."""

    claim_at: datetime | None
    contact_at: datetime | None
    hold_ends_at: datetime | None
    modality_at: datetime | None
    # When the debits of a mandate are planned next.
    mandate_at: datetime | None
    # True if a message is being sent, here or by a worker.
    is_sending: bool

    @property
    def next_at(self) -> datetime | None:
        instants = (
            self.claim_at, self.contact_at, self.hold_ends_at, self.modality_at, self.mandate_at,
        )  # fmt: skip
        return min((at for at in instants if at is not None), default=None)

    def is_due(self, now: datetime) -> bool:
        """Return whether there is something to do or to wait for at `now`."""
        return self.is_sending or (self.next_at is not None and self.next_at <= now)


@dataclass(frozen=True, slots=True)
class CountStart:
    """The state of the audit log and of the events at the start of a count."""

    # The smallest id of audit rows that are written after the start. `steps` is subtracted from the
    # count: the number of steps in earlier rows whose ids are not smaller.
    audit_id: UUID
    steps: int
    # Events written by later transactions are new.
    transaction: str


@dataclass(frozen=True, slots=True)
class RunCounts:
    steps: int
    events: int


async def move_clock(tx: Connection, merchant_id: int, instant: datetime) -> None:
    await tx.execute(_MOVE_CLOCK, merchant_id, instant)


async def load_due_times(tx: Connection, merchant_id: int) -> DueTimes:
    return DueTimes(**await _fetch(tx, _LOAD_DUE_TIMES, merchant_id))


async def begin_count(tx: Connection, merchant_id: int, now: datetime) -> CountStart:
    """Begin to count steps and events. `now` is the merchant's time."""
    first_id = uuid7(now, bytes(10))
    row = await _fetch(tx, _BEGIN_COUNT, merchant_id, first_id)
    return CountStart(first_id, row["steps"], row["transaction"])


async def count_since(tx: Connection, merchant_id: int, beginning: CountStart) -> RunCounts:
    """Count the steps that were run and the events that were raised since the beginning."""
    row = await _fetch(
        tx, _COUNT, merchant_id, beginning.audit_id, beginning.steps, beginning.transaction
    )
    return RunCounts(row["steps"], row["events"])


async def _fetch(tx: Connection, statement: str, *values: object) -> Row:
    row = await tx.fetchrow(statement, *values)
    assert row is not None
    return row
