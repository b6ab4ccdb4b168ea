"""Records that a contact a channel had accepted did not arrive, and begins the next fallback."""

from uuid import UUID

from dunwell.claims.states import ACTIVE, Status
from dunwell.errors import NotFound
from dunwell.escalation.late_failure import FallBackNow, decide_late_failure
from dunwell.escalation.processes import find_process
from dunwell.escalation.schedule import Position
from dunwell.escalation.tried import load_tried
from dunwell.escalation.usable_channels import Addresses, load_usable_channels
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Row
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.messages.guard_store import give_back
from dunwell.workflows.store import load_newest

# By primary keys; the claim is locked first.
_LOCK = """
SELECT m.communication_id, m.claim_id, m.step_id, m.channel, m.state,
       m.run = c.run AS is_of_this_run,
       c.status, c.workflow_id, c.workflow_major, c.run, c.next_step_id, c.due_at,
       d.email, d.mobile_number, d.address
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.communication_id = $2
FOR NO KEY UPDATE OF c, m
"""
_MARK_FAILED = """
WITH failed AS (
    UPDATE communications SET state = 'FAILED', failure = $3, settled_at = $4
    WHERE merchant_id = $1 AND communication_id = $2
    RETURNING *
)
INSERT INTO contact_ledger
    (merchant_id, entry_id, communication_id, claim_id, run, step_id, place, channel, outcome,
     tries, at, recipient_digest, content_digest)
SELECT $1, $5, communication_id, claim_id, run, step_id, place, channel, 'FAILED_LATER', tries, $4,
       recipient_digest, content_digest
FROM failed
"""
_FALL_BACK = """
WITH moved AS (
    UPDATE claims SET next_step_id = $4, due_at = NULL, updated_at = $3
    WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, not_before, planned_at)
VALUES ($1, $5, $2, $6, $7, $8, $9, $3, $3)
-- As in settle_contacts: a place whose contact was cancelled is free.
ON CONFLICT (merchant_id, claim_id, run, step_id, place) DO UPDATE
SET state = 'PLANNED', channel = excluded.channel, not_before = excluded.not_before,
    planned_at = excluded.planned_at, handed_over_at = NULL, settled_at = NULL, failure = NULL,
    tries = 0
WHERE communications.state = 'CANCELLED'
"""


async def report_failure(work: Work, keys: KeyRing, communication_id: UUID, reason: str) -> None:
    """Raises NotFound. A contact that is not accepted (any more) stays as it is: reports may come
    twice, and late."""
    row = await work.tx.fetchrow(_LOCK, work.merchant_id, communication_id)
    if row is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if row["state"] != "ACCEPTED":
        return
    await work.tx.execute(
        _MARK_FAILED, work.merchant_id, communication_id, reason, work.now, work.ids.new(work.now)
    )
    # It reached nobody: the fallback may go out today.
    await give_back(work.tx, work.merchant_id, [communication_id])
    if row["is_of_this_run"] and Status(row["status"]) in ACTIVE:
        decision = await _decide(work, keys, row)
        if decision is not None:
            await _fall_back(work, row, decision)
    await save_audit(work, "contact.fail", f"claim:{row['claim_id']}", channel=row["channel"])


async def _decide(work: Work, keys: KeyRing, row: Row) -> FallBackNow | None:
    key = (row["workflow_id"], row["workflow_major"])
    versions = await load_newest(work.tx, work.merchant_id, {key})
    process = find_process(versions[key], work.merchant.configuration.timezone)
    step = process.find_contact_step(row["step_id"])
    if step is None:
        return None
    contact_id = row["communication_id"]
    addresses = {contact_id: Addresses(row["email"], row["mobile_number"], row["address"])}
    usable = await load_usable_channels(work.tx, keys, work.merchant, addresses)
    position = Position(row["next_step_id"], row["due_at"])
    tried = await load_tried(work.tx, work.merchant_id, [contact_id])
    return decide_late_failure(process, position, step, usable[contact_id], tried[contact_id])


async def _fall_back(work: Work, row: Row, decision: FallBackNow) -> None:
    following = decision.following
    await work.tx.execute(
        _FALL_BACK, work.merchant_id, row["claim_id"], work.now, decision.position.next_step_id,
        work.ids.new(work.now), row["run"], following.step.id, following.place, following.channel,
    )  # fmt: skip
