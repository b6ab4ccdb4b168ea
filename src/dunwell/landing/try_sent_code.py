"""Compares six digits somebody typed with the code that was sent: five tries, ten minutes, once."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.landing.store_tries import lock_sent_code, remove_sent_code, save_sent_codes_wrong
from dunwell.landing.tries import MOST_WRONG, Locked, Wrong
from dunwell.landing.visitors import admit_visitor, count_visitors_wrong
from dunwell.notices.secrets import is_notice_code


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed, for which claim, by whom: `digest_visitor`'s."""

    merchant_id: int
    claim_id: int
    text: str
    visitor: bytes


async def try_sent_code(
    tx: Connection, keys: KeyRing, typed: Typed, now: datetime
) -> Wrong | Locked | None:
    """None: it is right, and used up. The answer is the same for a code that is wrong, too old,
    tried too often or was never sent. What it wrote is to be committed, whatever it answers."""
    visits = await admit_visitor(tx, typed.visitor, now)
    if isinstance(visits, Locked):
        return visits
    sent = await lock_sent_code(tx, typed.merchant_id, typed.claim_id)
    is_live = sent is not None and sent.failures < MOST_WRONG and now < sent.expires_at
    if sent is not None and is_live and is_notice_code(keys, sent.notice_id, typed.text):
        await remove_sent_code(tx, typed.merchant_id, typed.claim_id)
        return None
    await save_sent_codes_wrong(tx, typed.merchant_id, typed.claim_id)
    return await count_visitors_wrong(tx, typed.visitor, visits, now)
