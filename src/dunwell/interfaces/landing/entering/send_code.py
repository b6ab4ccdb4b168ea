"""Sends six digits to the address on file; the claim's code from before works no more."""

from datetime import timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.notices.notice import Notice, TooMany, Unreachable
from dunwell.contact.notices.send_notice import find_repeated, send_notice
from dunwell.interfaces.landing.entering.store_tries import lock_sent_code, save_sent_code
from dunwell.platform.crypto import KeyRing

LASTS = timedelta(minutes=10)


async def send_code(work: Work, keys: KeyRing, notice: Notice) -> UUID | TooMany | Unreachable:
    """`notice`: of kind CODE. Where none is sent, the code from before stays good; a second click
    sends none, unless that code was tried already. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    repeated = await find_repeated(work, notice)
    if repeated is not None and await _is_untried(work, notice, repeated):
        return repeated
    sent = await send_notice(work, keys, notice)
    if isinstance(sent, UUID):
        claim_id = notice.addressee.claim_id
        await save_sent_code(
            work.tx, work.merchant_id, claim_id, notice_id=sent, expires_at=work.real_now + LASTS
        )
    return sent


async def _is_untried(work: Work, notice: Notice, notice_id: UUID) -> bool:
    code = await lock_sent_code(work.tx, work.merchant_id, notice.addressee.claim_id)
    if code is None or code.notice_id != notice_id:
        return False
    return code.used_at is None and code.failures == 0
