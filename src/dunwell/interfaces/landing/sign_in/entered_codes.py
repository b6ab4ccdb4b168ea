"""Compares typed codes and facts with what is on file, counts wrong ones, and sends six-digit
codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.claim_links import list_code_digests, parse_code
from dunwell.contact.messages.identities import digest_address
from dunwell.contact.notices.notice import DebtorNotice, NoticeLimitReached, RecipientUnreachable
from dunwell.contact.notices.notice_codes import is_notice_code
from dunwell.contact.notices.send_notice import find_repeated_notice, send_notice
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.sign_in.attempt_limits import (
    MOST_WRONG,
    Locked,
    Slowed,
    Tries,
    WrongTry,
    count_right,
    count_wrong,
    decide_lock,
)
from dunwell.interfaces.landing.sign_in.store import (
    SentCode,
    WayIn,
    find_code,
    lock_sent_code,
    lock_tries,
    save_sent_code,
    save_sent_code_used,
    save_sent_codes_wrong,
    save_tries,
)
from dunwell.interfaces.landing.sign_in.verification import Fact, Known, is_authenticated, read_typed
from dunwell.interfaces.landing.sign_in.visitor_limits import (
    admit_codes,
    count_visitors_wrong,
    count_wrong_code,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.security_events import log_security_event

# Of its merchant, and its own.
ClaimKey = tuple[int, int]


async def admit_claims(tx: Connection, claim: ClaimKey, now: datetime) -> Tries | Locked:
    """What was tried, while others who try wait for this transaction's end. Locks the claim first,
    as all who take both do."""
    await lock_claim(tx, *claim)
    tries = await lock_tries(tx, *claim, now)
    return decide_lock(tries, now) or tries


async def count_claims_right(tx: Connection, claim: ClaimKey, tries: Tries, now: datetime) -> None:
    await save_tries(tx, *claim, count_right(tries, now))


async def count_claims_wrong(
    tx: Connection, claim: ClaimKey, tries: Tries, now: datetime
) -> WrongTry:
    """The last that its transaction does, as `count_wrong_code`."""
    counted = count_wrong(tries, now)
    await save_tries(tx, *claim, counted)
    if decide_lock(counted, now) is not None:
        merchant_id, claim_id = claim
        log_security_event("CLAIM_LOCKED", merchant_id=merchant_id, claim_id=claim_id)
    return await count_wrong_code(tx, now)


async def try_code(
    tx: Connection, keys: KeyRing, typed: str, visitor: bytes, now: datetime,
    *, only: ClaimKey | None = None,
) -> WayIn | WrongTry | Slowed:  # fmt: skip
    """`visitor`: `digest_visitor`'s. `only`: a code of any other claim is as wrong as one of none.
    What it wrote is to be committed, whatever it answers."""
    known = await admit_codes(tx, visitor, now)
    if isinstance(known, Slowed):
        return known
    code = parse_code(typed)
    if code is None:
        # Not a guess: a slip of the finger.
        return WrongTry()
    found = await find_code(tx, list_code_digests(keys, code))
    if found is not None and only in (None, (found.merchant.merchant_id, found.claim_id)):
        return found
    return await count_visitors_wrong(tx, visitor, known, now)


@dataclass(frozen=True, slots=True)
class AskedFact:
    """Whose fact is asked for, and which."""

    merchant_id: int
    claim_id: int
    known: Known
    fact: Fact


async def try_fact(
    tx: Connection, asked: AskedFact, form: Mapping[str, str], now: datetime
) -> WrongTry | Locked | None:
    """None: it is right. What it wrote is to be committed, whatever it answers."""
    claim = asked.merchant_id, asked.claim_id
    tries = await admit_claims(tx, claim, now)
    if isinstance(tries, Locked):
        return tries
    typed = read_typed(asked.fact, form)
    if typed is None:
        # Not a guess: a slip of the finger.
        return WrongTry()
    if is_authenticated(asked.fact, typed, asked.known):
        await count_claims_right(tx, claim, tries, now)
        return None
    return await count_claims_wrong(tx, claim, tries, now)


# A second click on the same form.
_REPEATED_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class TypedFact:
    """What was typed, for which claim, by whom: `digest_visitor`'s."""

    merchant_id: int
    claim_id: int
    text: str
    visitor: bytes


@dataclass(frozen=True, slots=True)
class RightCode:
    """`is_repeated`: the same code came a moment ago, and opened or raised a session; whose it is,
    the caller finds out."""

    is_repeated: bool
    # That took the code along; none: it was something else that was proven.
    notice_id: UUID | None = None
    # Of the address it went to, as suppressions know it.
    proven_digests: tuple[bytes, ...] = ()


async def try_sent_code(
    tx: Connection, keys: KeyRing, typed: TypedFact, now: datetime
) -> RightCode | WrongTry | Locked:
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
    return RightCode(sent.used_at is not None, sent.notice_id, proven)


def _is_live(sent: SentCode, now: datetime) -> bool:
    is_used_up = sent.used_at is not None and now >= sent.used_at + _REPEATED_WITHIN
    return sent.failures < MOST_WRONG and now < sent.expires_at and not is_used_up


LASTS = timedelta(minutes=10)


async def send_code(
    work: Work, keys: KeyRing, notice: DebtorNotice
) -> UUID | NoticeLimitReached | RecipientUnreachable:
    """`notice`: of kind CODE. Where none is sent, the code from before stays good; a second click
    sends none, unless that code was tried already. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    repeated = await find_repeated_notice(work, notice)
    if repeated is not None and await _is_untried(work, notice, repeated):
        return repeated
    sent = await send_notice(work, keys, notice)
    if isinstance(sent, UUID):
        claim_id = notice.addressee.claim_id
        await save_sent_code(
            work.tx, work.merchant_id, claim_id, notice_id=sent, expires_at=work.real_now + LASTS
        )
    return sent


async def _is_untried(work: Work, notice: DebtorNotice, notice_id: UUID) -> bool:
    code = await lock_sent_code(work.tx, work.merchant_id, notice.addressee.claim_id)
    if code is None or code.notice_id != notice_id:
        return False
    return code.used_at is None and code.failures == 0
