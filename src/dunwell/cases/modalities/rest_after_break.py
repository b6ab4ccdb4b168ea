"""Lets a claim rest after its plan broke: without an end as long as the message that tells it is
under way, then for one more day. So nothing breaks in silence, and no fee runs ahead of the news. A
message that is reported not to have arrived begins it anew, also when the day is over.
"""

from datetime import timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.contact.notices.occasions.facts import Told
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import ACTIVE

QUIET_AFTER_BREAK = timedelta(days=1)

# Of claims whose plans have ended: what still holds them for these, and not for a later one. By the
# holds' primary key, then by payment_modalities_one.
_END_HOLDS = """
UPDATE holds h
SET until = $3
WHERE h.merchant_id = $1 AND h.claim_id = ANY($2::bigint[]) AND h.kind = 'MODALITY_ACTIVE'
  AND h.lifted_at IS NULL
  AND NOT EXISTS (SELECT FROM payment_modalities p
                  WHERE p.merchant_id = $1 AND p.claim_id = h.claim_id AND p.ended_at IS NULL
                    AND p.state = 'APPROVED')
"""
# By the holds' primary key, then by payment_modalities_one.
_STANDS = """
SELECT EXISTS (SELECT FROM holds
               WHERE merchant_id = $1 AND claim_id = $2 AND kind = 'MODALITY_ACTIVE'
                 AND lifted_at IS NULL)
    OR EXISTS (SELECT FROM payment_modalities
               WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL)
"""
_WHY = "That the plan has ended did not arrive; it is told by the next way."


async def begin_rest(work: Work, claim_ids: list[int]) -> None:
    """Of locked claims whose plans have just broken; what tells it is written beside. A sandbox's
    clock does not wait for real messages: its rest begins at once."""
    until = work.now + QUIET_AFTER_BREAK if work.merchant.is_sandbox else None
    await work.tx.execute(_END_HOLDS, work.merchant_id, claim_ids, until)


async def rest_after_break(work: Work, claim_id: int, subject: str, told: Told) -> None:
    """subject: the plan's id. The claim must be locked. A hold that has fallen stays so, unless
    news that did not arrive is under way."""
    if not told.is_under_way:
        await save_audit(
            work, "modality.tell", f"claim:{claim_id}",
            modalityId=subject, isTold=told.at is not None,
        )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    if told.is_under_way:
        await _stand_still(work, claim_id)
        return
    until = (told.at or work.now) + QUIET_AFTER_BREAK
    await work.tx.execute(_END_HOLDS, work.merchant_id, [claim_id], until)


async def _stand_still(work: Work, claim_id: int) -> None:
    """By the hold there is, or by one in its place; what has ended, or has a plan, needs none."""
    await work.tx.execute(_END_HOLDS, work.merchant_id, [claim_id], None)
    if await work.tx.fetchval(_STANDS, work.merchant_id, claim_id):
        return
    claim = await access_claim(work, claim_id)
    if claim.status in ACTIVE:
        await open_hold(work, claim_id, HoldKind.MODALITY_ACTIVE, reason=_WHY)
