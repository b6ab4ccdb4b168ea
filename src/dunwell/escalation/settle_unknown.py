"""Settles a contact that may or may not have left the house, by a person's word (CONTRACT 13).

Sent: the contact was made, and the claim goes on. Not sent: it is planned again under its id, if
its claim still waits for it; else nobody is contacted by it any more. Of two who settle at once the
second is told what the first said.
"""

from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.escalation.contact_store import read_contact
from dunwell.escalation.processes import find_process
from dunwell.escalation.settle_contacts import AnsweredContact, record_answers
from dunwell.escalation.settlement import Settled, TryAgain
from dunwell.kit.db import Row
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.workflows.store import load_newest

# By primary keys. Whoever waited for the claim's lock sees what was committed meanwhile.
_LOCK = """
SELECT m.communication_id, m.claim_id, m.run AS contact_run, m.step_id, m.place, m.channel, m.tries,
       m.state, m.version_id AS sent_version_id, c.reference_number, c.status,
       -- The run's own process, if the claim was assigned anew meanwhile.
       CASE WHEN c.run = m.run THEN c.workflow_id ELSE coalesce(v.workflow_id, c.workflow_id) END
           AS workflow_id,
       CASE WHEN c.run = m.run THEN c.workflow_major ELSE coalesce(v.major, c.workflow_major) END
           AS workflow_major,
       c.run, c.next_step_id, c.due_at, c.event_sequence,
       d.customer_number, d.email, d.mobile_number, d.address
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = m.claim_id
LEFT JOIN workflow_versions v ON v.merchant_id = $1 AND v.version_id = m.version_id
WHERE m.merchant_id = $1 AND m.communication_id = $2
FOR NO KEY UPDATE OF c, m
"""
_READ_STATE = "SELECT state FROM communications WHERE merchant_id = $1 AND communication_id = $2"


async def settle_unknown(work: Work, communication_id: UUID, *, was_sent: bool) -> str:
    """The state the contact has now. Raises NotFound, and InvalidState if it is not UNKNOWN."""
    row = await work.tx.fetchrow(_LOCK, work.merchant_id, communication_id)
    if row is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if row["state"] != "UNKNOWN":
        raise InvalidState(
            f"Communication {communication_id} is {row['state']}; only one that is UNKNOWN is "
            "settled by a person.",
            state=row["state"],
        )
    answered = await _describe(work, row, was_sent=was_sent)
    await record_answers(work, [(answered, row)])
    outcome = "SENT" if was_sent else "NOT_SENT"
    await save_audit(
        work, "contact.settle", f"claim:{row['claim_id']}",
        communicationId=str(communication_id), outcome=outcome,
    )  # fmt: skip
    state: str = await work.tx.fetchval(_READ_STATE, work.merchant_id, communication_id)
    return state


async def _describe(work: Work, row: Row, *, was_sent: bool) -> AnsweredContact:
    """As if its channel had answered: taken, or to be tried again at once."""
    key = (row["workflow_id"], row["workflow_major"])
    versions = await load_newest(work.tx, work.merchant_id, {key})
    process = find_process(versions[key], work.merchant.configuration.timezone)
    settlement = Settled() if was_sent else TryAgain(work.now)
    contact = read_contact({**row, "run": row["contact_run"]})
    return AnsweredContact(contact, settlement, process, row["sent_version_id"], is_by_person=True)
