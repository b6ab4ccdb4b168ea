"""Lifts holds whose end has come, so that their claims go on: run by a timer, in sets."""

from collections.abc import Sequence

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.claims.store_holds import find_ended_holds, lift_ended_holds
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

_SET_SIZE = 500

log = structlog.get_logger(__name__)


async def expire_holds(resources: Resources, merchant_id: int | None = None) -> int:
    """One set, of one merchant or of all; how many claims it touched."""
    async with resources.database.connection() as connection:
        ended = await find_ended_holds(connection, resources.clock.now(), merchant_id, _SET_SIZE)
    touched = 0
    for owner_id, claim_ids in ended.items():
        try:
            touched += await _expire_for(resources, owner_id, claim_ids)
        except Unavailable:
            raise
        except Exception as error:
            # One merchant's fault must not keep the others' claims from going on.
            log.exception("cannot expire", merchant_id=owner_id, error=type(error).__name__)
    return touched


async def _expire_for(resources: Resources, merchant_id: int, claim_ids: Sequence[int]) -> int:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return 0
        work = Work.open(resources, tx, merchant, SYSTEM)
        count = await lift_ended_holds(tx, merchant_id, claim_ids, work.now)
        await save_audit(work, "hold.expire", f"merchant:{merchant_id}", claims=count)
        return count
