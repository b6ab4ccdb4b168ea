"""Changes the e-mail address or mobile number on file, once the new one has shown its code.

The old address is told, so that nobody takes another's mail away unseen (PAGES, contact
and language preferences); and whoever changed it, by the first way there is now.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.messages.identities import mask_address
from dunwell.contact.notices.notice import Notice, NoticeChannel, TooMany, Unreachable
from dunwell.contact.notices.occasions.facts import ContactChangeFacts
from dunwell.contact.notices.occasions.tell_debtor import tell_debtor
from dunwell.contact.notices.secrets import is_notice_code
from dunwell.contact.notices.send_notice import find_repeated, send_notice
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.entering.claims_tries import admit_claims, count_claims_wrong
from dunwell.interfaces.landing.entering.tries import MOST_WRONG, Locked, Wrong
from dunwell.interfaces.landing.reaching.store import (
    PendingChange,
    load_change,
    remove_change,
    save_change,
    save_wrong,
)
from dunwell.interfaces.landing.session.store import load_on_file
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import NotFound

LASTS = timedelta(minutes=10)
_PATCHED: dict[NoticeChannel, str] = {"EMAIL": "email", "SMS": "mobileNumber"}


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed, for which claim."""

    claim_id: int
    text: str


async def ask_change(work: Work, keys: KeyRing, notice: Notice) -> UUID | TooMany | Unreachable:
    """`notice`: of kind CHANGE_CODE, to the new address. A change that waited for its code before
    is given up for it; a second click sends no second code, unless that one was tried already.
    Raises NotFound."""
    work.need(Right.CHANGE_CLAIMS)
    repeated = await find_repeated(work, notice)
    if repeated is not None and await _is_untried(work, notice, repeated):
        return repeated
    sent = await send_notice(work, keys, notice)
    if isinstance(sent, UUID):
        to = notice.addressee
        change = PendingChange(to.channel, to.recipient, sent, work.real_now + LASTS)
        await save_change(work.tx, work.merchant_id, to.claim_id, change)
    return sent


async def _is_untried(work: Work, notice: Notice, notice_id: UUID) -> bool:
    change = await load_change(work.tx, work.merchant_id, notice.addressee.claim_id)
    return change is not None and change.notice_id == notice_id and change.failures == 0


async def confirm_change(
    work: Work, keys: KeyRing, typed: Typed, tell: Callable[[PendingChange, str], Notice],
) -> PendingChange | Wrong | Locked:  # fmt: skip
    """The address is changed. `tell` composes what the old one, its second argument, is told.

    The answer is the same for a code that is wrong, too old, tried too often or was never sent.
    What it wrote is to be committed, whatever it answers. Raises NotFound.
    """
    work.need(Right.CHANGE_CLAIMS)
    claim = work.merchant_id, typed.claim_id
    if await lock_claim(work.tx, *claim) is None:
        raise NotFound(f"There is no claim {typed.claim_id}.")
    tries = await admit_claims(work.tx, claim, work.real_now)
    if isinstance(tries, Locked):
        return tries
    change = await load_change(work.tx, work.merchant_id, typed.claim_id)
    is_live = (
        change is not None and change.failures < MOST_WRONG and work.real_now < change.expires_at
    )
    if (
        change is None
        or not is_live
        or not is_notice_code(keys, change.notice_id, typed.text, change.key_version)
    ):
        await save_wrong(work.tx, work.merchant_id, typed.claim_id)
        return await count_claims_wrong(work.tx, claim, tries, work.real_now)
    before = await load_on_file(work.tx, work.merchant_id, typed.claim_id)
    old = before.email if change.channel == "EMAIL" else before.mobile_number
    await change_contact_data(work, typed.claim_id, {_PATCHED[change.channel]: change.address})
    await remove_change(work.tx, work.merchant_id, typed.claim_id)
    if old:
        await send_notice(work, keys, tell(change, old))
    masked = mask_address(change.channel, change.address)
    told = ContactChangeFacts(change.channel, work.now, masked)
    await tell_debtor(work, typed.claim_id, str(change.notice_id), told)
    return change
