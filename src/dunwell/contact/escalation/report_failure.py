"""Records that a contact a channel had accepted did not arrive, and begins the next fallback."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.escalation.claim_contact_store import load_tried
from dunwell.contact.escalation.late_failure import FallBackNow, decide_late_failure
from dunwell.contact.escalation.process import find_process
from dunwell.contact.escalation.schedule import Position
from dunwell.contact.escalation.settlement_store import (
    LockedContact,
    lock_contact,
    save_fallback,
    save_late_failure,
)
from dunwell.contact.escalation.usable_channels import load_usable_channels
from dunwell.contact.messages.guard_store import give_back
from dunwell.core.claims.states import ACTIVE
from dunwell.core.workflows.store import load_newest
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import NotFound


async def report_failure(work: Work, keys: KeyRing, communication_id: UUID, reason: str) -> None:
    """Raises NotFound. A contact that is not accepted (any more) stays as it is: reports may come
    twice, and late."""
    work.need(Right.OPERATE)
    locked = await lock_contact(work.tx, work.merchant_id, communication_id)
    if locked is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if locked.state != "ACCEPTED":
        return
    contact = locked.contact
    await save_late_failure(
        work.tx, work.merchant_id, communication_id, reason,
        now=work.now, entry_id=work.ids.new(work.now),
    )  # fmt: skip
    # It reached nobody: the fallback may go out today.
    await give_back(work.tx, work.merchant_id, [communication_id])
    if locked.is_of_this_run and locked.claim.status in ACTIVE:
        decision = await _decide(work, keys, locked)
        if decision is not None:
            await save_fallback(
                work.tx, work.merchant_id, contact, decision,
                now=work.now, communication_id=work.ids.new(work.now),
            )  # fmt: skip
    await save_audit(work, "contact.fail", f"claim:{contact.claim_id}", channel=contact.channel)


async def _decide(work: Work, keys: KeyRing, locked: LockedContact) -> FallBackNow | None:
    contact, claim = locked.contact, locked.claim
    versions = await load_newest(work.tx, work.merchant_id, {contact.process_key})
    version = versions[contact.process_key]
    process = find_process(version, work.merchant.configuration)
    step = process.find_contact_step(contact.step_id)
    if step is None:
        return None
    contact_id = contact.communication_id
    usable = await load_usable_channels(work.tx, keys, work.merchant, {contact_id: contact})
    position = Position(claim.next_step_id, claim.due_at)
    tried = await load_tried(work.tx, work.merchant_id, [contact_id])
    return decide_late_failure(
        process, position, failed=step, usable_channels=usable[contact_id], tried=tried[contact_id]
    )
