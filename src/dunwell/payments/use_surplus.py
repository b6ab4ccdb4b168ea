"""Lets what payments had too much pay what is owed again, or newly: so that nothing is outstanding
beside an overpaid cent. Part of use cases that hold the claim's lock."""

from dunwell.claims.store import load_items
from dunwell.merchants.account import Work
from dunwell.payments.sharing import share_surplus
from dunwell.payments.store import load_surplus, save_shares


async def use_surplus(work: Work, claim_id: int) -> None:
    surplus = await load_surplus(work.tx, work.merchant_id, claim_id)
    if not surplus:
        return
    items = await load_items(work.tx, work.merchant_id, claim_id)
    order = work.merchant.configuration.payment.allocation
    shared = share_surplus(items, surplus, order)
    await save_shares(work.tx, work.merchant_id, claim_id, shared)
