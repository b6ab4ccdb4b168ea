"""What a claim's account comes to, and what follows when items or payments changed beside a new
payment.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Allocation
from dunwell.cases.modalities.store import hasten_check
from dunwell.cases.payments.store import load_surplus, save_collected, save_shares
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.core.claims.balance import Balance, OwedItem, allocate, sum_balance
from dunwell.core.claims.states import ClaimTransition, Status, decide_status
from dunwell.core.claims.store import LockedClaim, load_items, load_paid_cents

Shares = dict[int, int]


def share_surplus(
    items: Sequence[OwedItem], surplus: Mapping[UUID, int], order: Allocation
) -> dict[UUID, Shares]:
    """Share out each payment's unused cents in turn: payment id -> item id -> cents.

    So nothing is outstanding beside an overpaid cent.
    """
    owing, shared = list(items), {}
    for payment_id, cents in surplus.items():
        shares = allocate(owing, cents, order)
        if shares:
            shared[payment_id] = shares
            owing = [_pay(item, shares.get(item.item_id, 0)) for item in owing]
    return shared


def _pay(item: OwedItem, cents: int) -> OwedItem:
    return replace(item, allocated_cents=item.allocated_cents + cents)


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
    following = decide_status(status, ClaimTransition.PAID_IN_FULL)
    await save_collected(work.tx, work.merchant_id, claim_id, left=status, now=work.now)
    await cancel_contacts(
        work.tx, work.merchant_id, [claim_id], work.now, reason="Nothing is owed any more."
    )
    await hasten_check(work.tx, work.merchant_id, claim_id, work.now)
    return following
