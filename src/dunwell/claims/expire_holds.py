"""Lifts holds whose end has come, so that their claims go on: run by a timer, in sets."""

from dunwell.claims.store import find_ended_holds, lift_ended_holds
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store import load_merchant

_SET_SIZE = 500


async def expire_holds(resources: Resources, merchant_id: int | None = None) -> int:
    """One set, of one merchant or of all; how many claims it touched."""
    async with resources.database.connection() as connection:
        ended = await find_ended_holds(connection, resources.clock.now(), merchant_id, _SET_SIZE)
    touched = 0
    for owner_id, claim_ids in ended.items():
        async with resources.database.transaction() as tx:
            merchant = await load_merchant(tx, owner_id)
            if merchant is None:
                continue
            work = Work(tx, merchant, SYSTEM, merchant.now(resources.clock), resources.ids)
            count = await lift_ended_holds(tx, owner_id, claim_ids, work.now)
            await save_audit(work, "hold.expire", f"merchant:{owner_id}", claims=count)
            touched += count
    return touched
