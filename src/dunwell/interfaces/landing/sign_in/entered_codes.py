"""Verify entered codes and other proofs, count wrong ones, and send six-digit codes."""

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
    MAX_FAILURES,
    Delayed,
    Locked,
    ProofAttempts,
    WrongAttempt,
    add_failure,
    clear_failures,
    decide_lock,
)
from dunwell.interfaces.landing.sign_in.store import (
    ClaimAccess,
    SentCode,
    find_access_by_code,
    lock_proof_attempts,
    lock_sent_code,
    save_proof_attempts,
    save_sent_code,
    save_sent_code_failure,
    save_sent_code_used,
)
from dunwell.interfaces.landing.sign_in.verification import (
    KnownProofs,
    ProofKind,
    matches_proof,
    parse_typed_proof,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import (
    load_wrong_codes,
    record_wrong_code,
    record_wrong_code_of_visitor,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.security_events import log_security_event

# The merchant id and the claim id.
ClaimKey = tuple[int, int]


async def lock_attempts_of_claim(
    tx: Connection, claim: ClaimKey, now: datetime
) -> ProofAttempts | Locked:
    """Lock the claim and then its attempts until the transaction ends. Return the attempts, or the
    lock that is in force because of them."""
    await lock_claim(tx, *claim)
    attempts = await lock_proof_attempts(tx, *claim, now)
    return decide_lock(attempts, now) or attempts


async def record_success(
    tx: Connection, claim: ClaimKey, attempts: ProofAttempts, now: datetime
) -> None:
    await save_proof_attempts(tx, *claim, clear_failures(attempts, now))


async def record_failure(
    tx: Connection, claim: ClaimKey, attempts: ProofAttempts, now: datetime
) -> WrongAttempt:
    """Count a wrong attempt. This must be the last step of its transaction; see
    `record_wrong_code`."""
    counted = add_failure(attempts, now)
    await save_proof_attempts(tx, *claim, counted)
    if decide_lock(counted, now) is not None:
        merchant_id, claim_id = claim
        log_security_event("CLAIM_LOCKED", merchant_id=merchant_id, claim_id=claim_id)
    return await record_wrong_code(tx, now)


async def verify_letter_code(
    tx: Connection, keys: KeyRing, typed: str, visitor: bytes, now: datetime,
    *, only: ClaimKey | None = None,
) -> ClaimAccess | WrongAttempt | Delayed:  # fmt: skip
    """Find the claim of a letter's code. `visitor` comes from `digest_visitor`. With `only`, a code
    of any other claim counts as wrong. The caller commits even if the code is wrong,
    so that the attempt is counted."""
    wrong_codes = await load_wrong_codes(tx, visitor, now)
    if isinstance(wrong_codes, Delayed):
        return wrong_codes
    code = parse_code(typed)
    if code is None:
        # A typing error, not an attempt to guess.
        return WrongAttempt()
    found = await find_access_by_code(tx, list_code_digests(keys, code))
    if found is not None and only in (None, (found.merchant.merchant_id, found.claim_id)):
        return found
    return await record_wrong_code_of_visitor(tx, visitor, wrong_codes, now)


@dataclass(frozen=True, slots=True)
class RequestedProof:
    """The proof that is asked for, and the claim that it opens."""

    merchant_id: int
    claim_id: int
    known: KnownProofs
    kind: ProofKind


async def verify_proof(
    tx: Connection, requested: RequestedProof, form: Mapping[str, str], now: datetime
) -> WrongAttempt | Locked | None:
    """Return None if the proof is right. The caller commits even if it is wrong, so that the
    attempt is counted."""
    claim = requested.merchant_id, requested.claim_id
    attempts = await lock_attempts_of_claim(tx, claim, now)
    if isinstance(attempts, Locked):
        return attempts
    typed = parse_typed_proof(requested.kind, form)
    if typed is None:
        # A typing error, not an attempt to guess.
        return WrongAttempt()
    if matches_proof(requested.kind, typed, requested.known):
        await record_success(tx, claim, attempts, now)
        return None
    return await record_failure(tx, claim, attempts, now)


# A used code is accepted again within this time, because a form may be sent by a double click.
_REPEATED_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class TypedCode:
    """An entered code, with its claim and the visitor (`digest_visitor`)."""

    merchant_id: int
    claim_id: int
    text: str
    visitor: bytes


@dataclass(frozen=True, slots=True)
class CorrectProof:
    """`is_repeated` says that the same code was used within the last ten seconds and opened a
    session or raised its level. The caller must check whether it was the same visitor."""

    is_repeated: bool
    # The notice that delivered the code. None if something else was proven.
    notice_id: UUID | None = None
    # Digests of the address that the code was sent to, as the suppression list stores them.
    proven_digests: tuple[bytes, ...] = ()


async def verify_sent_code(
    tx: Connection, keys: KeyRing, typed: TypedCode, now: datetime
) -> CorrectProof | WrongAttempt | Locked:
    """Verify a sent code. A correct code is used up in this transaction. The result is the same for
    a code that is wrong, expired, tried too often or was never sent. The caller commits even if
    the code is wrong, so that the attempt is counted."""
    # Lock the claim before the code, as the sending of codes does.
    claim = typed.merchant_id, typed.claim_id
    attempts = await lock_attempts_of_claim(tx, claim, now)
    if isinstance(attempts, Locked):
        return attempts
    sent = await lock_sent_code(tx, typed.merchant_id, typed.claim_id)
    if (
        sent is None
        or not _is_live(sent, now)
        or not is_notice_code(keys, sent.notice_id, typed.text, sent.key_version)
    ):
        await save_sent_code_failure(tx, typed.merchant_id, typed.claim_id)
        return await record_failure(tx, claim, attempts, now)
    await record_success(tx, claim, attempts, now)
    if sent.used_at is None:
        await save_sent_code_used(tx, typed.merchant_id, typed.claim_id, now)
    proven_digests = (
        digest_address(keys, typed.merchant_id, sent.channel, sent.recipient)
        if sent.channel and sent.recipient
        else ()
    )
    return CorrectProof(sent.used_at is not None, sent.notice_id, proven_digests)


def _is_live(sent: SentCode, now: datetime) -> bool:
    is_used_up = sent.used_at is not None and now >= sent.used_at + _REPEATED_WITHIN
    return sent.failures < MAX_FAILURES and now < sent.expires_at and not is_used_up


CODE_LIFETIME = timedelta(minutes=10)


async def send_code(
    work: Work, keys: KeyRing, notice: DebtorNotice
) -> UUID | NoticeLimitReached | RecipientUnreachable:
    """Send a code. `notice` is of kind CODE. If none is sent, the previous code stays valid. A
    second click sends no new code unless the previous one was entered already. Raises NotFound if
    the claim does not exist."""
    work.require(Right.READ_CLAIMS)
    repeated = await find_repeated_notice(work, notice)
    if repeated is not None and await _is_untried(work, notice, repeated):
        return repeated
    sent = await send_notice(work, keys, notice)
    if isinstance(sent, UUID):
        claim_id = notice.addressee.claim_id
        await save_sent_code(
            work.tx,
            work.merchant_id,
            claim_id,
            notice_id=sent,
            expires_at=work.real_now + CODE_LIFETIME,
        )
    return sent


async def _is_untried(work: Work, notice: DebtorNotice, notice_id: UUID) -> bool:
    code = await lock_sent_code(work.tx, work.merchant_id, notice.addressee.claim_id)
    if code is None or code.notice_id != notice_id:
        return False
    return code.used_at is None and code.failures == 0
