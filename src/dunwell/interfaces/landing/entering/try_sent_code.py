"""Compares six digits somebody typed with the code that was sent: five tries, ten minutes, once."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.contact.messages.identities import digest_address
from dunwell.contact.notices.secrets import is_notice_code
from dunwell.interfaces.landing.entering.claims_tries import (
    admit_claims,
    count_claims_right,
    count_claims_wrong,
)
from dunwell.interfaces.landing.entering.store_tries import (
    SentCode,
    lock_sent_code,
    save_sent_code_used,
    save_sent_codes_wrong,
)
from dunwell.interfaces.landing.entering.tries import MOST_WRONG, Locked, Wrong
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

# A second click on the same form.
_REPEATED_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed, for which claim, by whom: `digest_visitor`'s."""

    merchant_id: int
    claim_id: int
    text: str
    visitor: bytes


@dataclass(frozen=True, slots=True)
class Right:
    """`is_repeated`: the same code came a moment ago, and opened or raised a session; whose it is,
    the caller finds out."""

    is_repeated: bool
    # That took the code along; none: it was something else that was proven.
    notice_id: UUID | None = None
    # Of the address it went to, as suppressions know it.
    proven_digests: tuple[bytes, ...] = ()


async def try_sent_code(
    tx: Connection, keys: KeyRing, typed: Typed, now: datetime
) -> Right | Wrong | Locked:
    """A right one is used up with what the transaction makes of it. The answer is the same for a
    code that is wrong, too old, tried too often or was never sent. What it wrote is to be
    committed, whatever it answers."""
    # The claim before the code: whoever sends one takes them in this order.
    claim = typed.merchant_id, typed.claim_id
    tries = await admit_claims(tx, claim, now)
    if isinstance(tries, Locked):
        return tries
    sent = await lock_sent_code(tx, typed.merchant_id, typed.claim_id)
    if (
        sent is None
        or not _is_live(sent, now)
        or not is_notice_code(keys, sent.notice_id, typed.text, sent.key_version)
    ):
        await save_sent_codes_wrong(tx, typed.merchant_id, typed.claim_id)
        return await count_claims_wrong(tx, claim, tries, now)
    await count_claims_right(tx, claim, tries, now)
    if sent.used_at is None:
        await save_sent_code_used(tx, typed.merchant_id, typed.claim_id, now)
    proven = (
        digest_address(keys, typed.merchant_id, sent.channel, sent.recipient)
        if sent.channel and sent.recipient
        else ()
    )
    return Right(sent.used_at is not None, sent.notice_id, proven)


def _is_live(sent: SentCode, now: datetime) -> bool:
    is_used_up = sent.used_at is not None and now >= sent.used_at + _REPEATED_WITHIN
    return sent.failures < MOST_WRONG and now < sent.expires_at and not is_used_up
