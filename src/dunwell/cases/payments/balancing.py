"""What a claim's account comes to, and what follows from it when items or payments changed beside a
new payment: what payments had too much pays what is owed again, and a claim of which nothing is
outstanding any more is collected.

Part of use cases that hold the claim's lock.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.cases.modalities.store_checks import hasten_check
from dunwell.cases.payments.sharing import share_surplus
from dunwell.cases.payments.store import load_surplus, save_shares
from dunwell.cases.payments.store_items import save_collected
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.core.claims.balance import Balance, sum_balance
from dunwell.core.claims.states import Happening, Status, decide_status
from dunwell.core.claims.store import LockedClaim, load_items, load_paid_cents


async def load_balance(work: Work, claim_id: int) -> Balance:
    items = await load_items(work.tx, work.merchant_id, claim_id)
    return sum_balance(items, await load_paid_cents(work.tx, work.merchant_id, claim_id))


async def use_surplus(work: Work, claim_id: int) -> None:
    """So that nothing is outstanding beside an overpaid cent."""
    surplus = await load_surplus(work.tx, work.merchant_id, claim_id)
    if not surplus:
        return
    items = await load_items(work.tx, work.merchant_id, claim_id)
    order = work.merchant.configuration.payment.allocation
    shared = share_surplus(items, surplus, order)
    await save_shares(work.tx, work.merchant_id, claim_id, shared)


async def collect_if_paid(work: Work, claim: LockedClaim, balance: Balance) -> Status:
    """The status a claim in process has now."""
    status, claim_id = claim.status, claim.claim_id
    if balance.outstanding_cents > 0:
        return status
    following = decide_status(status, Happening.PAID_IN_FULL)
    await save_collected(work.tx, work.merchant_id, claim_id, left=status, now=work.now)
    await cancel_contacts(
        work.tx, work.merchant_id, [claim_id], work.now, reason="Nothing is owed any more."
    )
    await hasten_check(work.tx, work.merchant_id, claim_id, work.now)
    return following
