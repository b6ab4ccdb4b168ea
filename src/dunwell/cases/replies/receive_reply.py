"""Receive a reply to a message. It is stored with its claim. A person's reply pauses the workflow
until staff have read it, or for three business days."""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.replies.reply import (
    HOLD_REASON,
    MAX_REPLIES_PER_DAY,
    NewReply,
    compute_hold_end,
    seal_reply,
)
from dunwell.cases.replies.store import (
    UnreadReply,
    count_replies,
    find_claim_of_message,
    insert_reply,
    load_unread_replies,
    save_replies_read,
    save_reply_hold,
)
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.states import ACTIVE, HoldKind
from dunwell.core.claims.store import lock_claim
from dunwell.platform.crypto import KeyRing

_DAY = timedelta(days=1)
# How many replies a page lists, and how many characters of each.
MAX_LISTED_REPLIES, _EXCERPT_LENGTH = 100, 200


class ReplyOutcome(Enum):
    """The result of receiving a reply. KNOWN: the reply was received before. GONE: its message or
    claim was deleted. TOO_MANY: the claim has reached its limit for 24 hours; the reply can be
    delivered again later."""

    NEW = "NEW"
    KNOWN = "KNOWN"
    GONE = "GONE"
    TOO_MANY = "TOO_MANY"


async def receive_reply(work: Work, keys: KeyRing, reply: NewReply) -> ReplyOutcome:
    """Store a reply for the merchant that its reference names. After the commit, the delivery of
    the reply may be confirmed to its sender."""
    work.require(Right.CHANGE_CLAIMS)
    merchant_id = work.merchant_id
    claim_id = await find_claim_of_message(work.tx, merchant_id, reply.reference.communication_id)
    claim = None if claim_id is None else await lock_claim(work.tx, merchant_id, claim_id)
    if claim is None or claim_id is None:
        return ReplyOutcome.GONE
    if await count_replies(work.tx, merchant_id, claim_id, work.now - _DAY) >= MAX_REPLIES_PER_DAY:
        return ReplyOutcome.TOO_MANY
    reply_id = work.ids.new(work.now)
    is_new = await insert_reply(
        work.tx, reply,
        reply_id=reply_id, claim_id=claim_id, received_at=work.now,
        sealed=seal_reply(keys, merchant_id, reply_id, reply.raw),
    )  # fmt: skip
    if not is_new:
        return ReplyOutcome.KNOWN
    await save_audit(
        work, "reply.take", f"claim:{claim_id}",
        replyId=str(reply_id), isAutomatic=reply.is_automatic,
    )  # fmt: skip
    if not reply.is_automatic and claim.status in ACTIVE:
        until = compute_hold_end(work.now, work.merchant.configuration.timezone)
        hold_id = await open_hold(work, claim_id, HoldKind.PAUSE, until=until, reason=HOLD_REASON)
        await save_reply_hold(work.tx, merchant_id, reply_id, hold_id)
    return ReplyOutcome.NEW


async def list_unread_replies(work: Work) -> Sequence[UnreadReply]:
    """Return the oldest unread replies, as many as a page shows."""
    work.require(Right.READ_CLAIMS)
    return await load_unread_replies(
        work.tx, work.merchant_id, limit=MAX_LISTED_REPLIES, excerpt_length=_EXCERPT_LENGTH
    )


async def mark_replies_read(work: Work, claim_id: int) -> None:
    """Mark a claim's replies as read and lift the holds opened for them. Other holds stay. Replies
    that were read before are unchanged. Raises NotFound."""
    work.require(Right.CHANGE_CLAIMS)
    await lock_claim_of_merchant(work, claim_id)
    holds = await save_replies_read(
        work.tx, work.merchant_id, claim_id, read_at=work.now, read_by=work.actor.actor_id
    )
    if not holds:
        return
    await save_audit(work, "reply.see", f"claim:{claim_id}", count=len(holds))
    for hold_id in holds:
        if hold_id is not None:
            await lift_holds(work, claim_id, HoldKind.PAUSE, hold_id=hold_id)
