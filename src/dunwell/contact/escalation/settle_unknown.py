"""Settles a contact that may or may not have left the house, by a person's word (CONTRACT 13).

Sent: the contact was made, and the claim goes on. Not sent: it is planned again under its id, if
its claim still waits for it; else nobody is contacted by it any more. Of two who settle at once the
second is told what the first said.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.escalation.process import find_process
from dunwell.contact.escalation.settle_contacts import AnsweredContact, record_answers
from dunwell.contact.escalation.settlement import Settled, TryAgain
from dunwell.contact.escalation.settlement_store import LockedContact, lock_contact, read_state
from dunwell.core.workflows.store import load_newest
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.lazy_text import LazyText


async def settle_unknown(work: Work, communication_id: UUID, *, was_sent: bool) -> str:
    """The state the contact has now. Raises NotFound, and InvalidState if it is not UNKNOWN."""
    work.need(Right.CONTACT_SETTINGS)
    locked = await lock_contact(work.tx, work.merchant_id, communication_id)
    if locked is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if locked.state != "UNKNOWN":
        raise InvalidState(
            LazyText(
                "Communication %(communication_id)s is %(message_state)s; only one that is UNKNOWN "
                "is settled by a person.",
                communication_id=communication_id,
                message_state=locked.state,
            ),
            state=locked.state,
        )
    answered = await _describe(work, locked, was_sent=was_sent)
    await record_answers(work, [(answered, locked.claim)])
    outcome = "SENT" if was_sent else "NOT_SENT"
    await save_audit(
        work, "contact.settle", f"claim:{locked.contact.claim_id}",
        before={"state": locked.state}, after={"state": outcome},
        communicationId=str(communication_id), outcome=outcome,
    )  # fmt: skip
    return await read_state(work.tx, work.merchant_id, communication_id)


async def _describe(work: Work, locked: LockedContact, *, was_sent: bool) -> AnsweredContact:
    """As if its channel had answered: taken, or to be tried again at once."""
    key, version_id = locked.contact.process_key, locked.claim.sent_version_id
    assert version_id is not None
    versions = await load_newest(work.tx, work.merchant_id, {key})
    process = find_process(versions[key], work.merchant.configuration)
    settlement = Settled() if was_sent else TryAgain(work.now)
    return AnsweredContact(locked.contact, settlement, process, version_id, is_by_person=True)
