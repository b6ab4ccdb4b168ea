"""Plan a notice that the debtor has just requested. It is sent as soon as the caller commits.

`NoticeSender` sends it. Pages show the result: the id of the notice, or the reason why none is
sent.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.contact.messages.claim_links import (
    TOKEN_MASK,
    derive_check_code,
    derive_code,
    digest_check_code,
    digest_code,
    hash_token,
)
from dunwell.contact.messages.identities import digest_installation_address
from dunwell.contact.messages.suppression import list_stopped_claims, load_suppression_reasons
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.contact.notices.notice import (
    DAY,
    HOUR,
    REPEATED_WITHIN,
    DebtorNotice,
    NoticeLimitReached,
    RecipientUnreachable,
    decide_address_limit,
    decide_expiry,
    decide_limit,
    is_awaited,
    respects_contact_stop,
    respects_suppression,
)
from dunwell.contact.notices.notice_codes import derive_notice_token, has_check_code, has_token
from dunwell.contact.notices.store import (
    CheckCode,
    NoticeKeyData,
    NoticeTimes,
    find_equal_notice,
    list_request_times,
    list_request_times_of_address,
    save_check_code,
    save_letter_code,
    save_notice,
    save_notice_link,
)
from dunwell.core.claims.store import lock_claim
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import NotFound


async def send_notice(
    work: Work, keys: KeyRing, notice: DebtorNotice
) -> UUID | NoticeLimitReached | RecipientUnreachable:
    """Plan the notice and return its id, from which its code and link token are derived. Locks the
    claim, because limits count the notices of concurrent requests. Raises NotFound."""
    addressee = notice.addressee
    if await lock_claim(work.tx, work.merchant_id, addressee.claim_id) is None:
        raise NotFound("The claim no longer exists.")
    refusal = await _find_refusal(work, keys, notice)
    if refusal is not None:
        return refusal
    notice_id = work.ids.new(work.real_now)
    expires_at = decide_expiry(notice.kind, addressee.channel, work.real_now)
    times = NoticeTimes(work.now, work.real_now, expires_at)
    key_data = NoticeKeyData(next(iter(_digest_address(keys, notice)), None), keys.version)
    await save_notice(
        work.tx,
        work.merchant_id,
        notice_id=notice_id,
        notice=notice,
        times=times,
        key_data=key_data,
    )
    await _save_digests(work, keys, notice_id, notice)
    await save_audit(
        work, "notice.send", f"claim:{addressee.claim_id}",
        noticeId=str(notice_id), kind=notice.kind, channel=addressee.channel,
    )  # fmt: skip
    return notice_id


async def _save_digests(work: Work, keys: KeyRing, notice_id: UUID, notice: DebtorNotice) -> None:
    """Store the digests of the link, the letter's code and the check code."""
    claim_id = notice.addressee.claim_id
    if has_token(notice.kind) and TOKEN_MASK in notice.body_text:
        token_hash = hash_token(derive_notice_token(keys, notice_id))
        await save_notice_link(
            work.tx,
            work.merchant_id,
            notice_id=notice_id,
            claim_id=claim_id,
            token_hash=token_hash,
            created_at=work.real_now,
        )
    if has_check_code(notice.kind) and CHECK_MASK in notice.body_text:
        digest = digest_check_code(keys, derive_check_code(keys, notice_id))
        code = CheckCode(notice_id, claim_id, digest, keys.version)
        await save_check_code(work.tx, work.merchant_id, code, work.real_now)
    if notice.sheet is not None:
        await save_letter_code(
            work.tx,
            work.merchant_id,
            claim_id=claim_id,
            code_digest=digest_code(keys, derive_code(keys, notice_id)),
            created_at=work.real_now,
            key_version=keys.version,
        )


async def find_repeated_notice(work: Work, notice: DebtorNotice) -> UUID | None:
    """Return the notice that an earlier click on the same form has planned. Locks the claim, so
    that clicks are processed one after the other. Raises NotFound."""
    if await lock_claim(work.tx, work.merchant_id, notice.addressee.claim_id) is None:
        raise NotFound("The claim no longer exists.")
    return await find_equal_notice(
        work.tx, work.merchant_id, notice, work.real_now - REPEATED_WITHIN
    )


async def _find_refusal(
    work: Work, keys: KeyRing, notice: DebtorNotice
) -> NoticeLimitReached | RecipientUnreachable | None:
    addressee = notice.addressee
    if addressee.channel not in work.merchant.configuration.channels:
        return RecipientUnreachable("NO_CHANNEL")
    address = (addressee.channel, addressee.recipient)
    reasons = await load_suppression_reasons(work.tx, keys, work.merchant_id, [address])
    if any(respects_suppression(notice.kind, reason) for reason in reasons.values()):
        return RecipientUnreachable("SUPPRESSED")
    claim = (work.merchant_id, addressee.claim_id)
    if respects_contact_stop(notice.kind) and await list_stopped_claims(work.tx, keys, [claim]):
        return RecipientUnreachable("SUPPRESSED")
    requested_at = await list_request_times(
        work.tx,
        work.merchant_id,
        claim_id=addressee.claim_id,
        kind=notice.kind,
        since=work.real_now - HOUR,
    )
    digests, refusal = _digest_address(keys, notice), decide_limit(requested_at, work.real_now)
    if refusal or not digests:
        return refusal
    return decide_address_limit(
        await list_request_times_of_address(work.tx, digests, work.real_now - DAY), work.real_now
    )


def _digest_address(keys: KeyRing, notice: DebtorNotice) -> tuple[bytes, ...]:
    """Return the digests of the address for the limits across the installation; empty for kinds
    without these limits."""
    addressee = notice.addressee
    if not is_awaited(notice.kind):
        return ()
    return digest_installation_address(keys, addressee.channel, addressee.recipient)
