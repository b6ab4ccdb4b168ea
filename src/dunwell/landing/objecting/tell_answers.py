"""Tells debtors how their objections were answered, and lets their claims rest for some days then.

By e-mail, else by SMS: the next way is taken where there is no address, where it is suppressed, and
where a channel refuses. As long as a message is under way the claim stays held without an end; the
quiet days begin when a channel has taken it. Who cannot be reached finds the answer on the page.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.claims.states import ACTIVE
from dunwell.claims.store import LockedClaim, lock_claim
from dunwell.claims.store_holds import end_hold_at
from dunwell.disputes.dispute import Dispute, DisputeState, decide_rest, render_case_number
from dunwell.disputes.store import load_dispute
from dunwell.errors import Unavailable
from dunwell.kit.resources import Resources
from dunwell.landing.objecting.store_answers import (
    Debtor,
    Untold,
    find_untold,
    is_as_found,
    load_debtor,
    save_answer_notice,
    save_told,
)
from dunwell.landing.telling.facts import DisputeAnswerFacts
from dunwell.landing.telling.writer import NoticeWriter
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store import load_merchant
from dunwell.notices.notice import Addressee, NoticeChannel
from dunwell.notices.send_notice import send_notice

ANSWER_SECONDS = 1.0
_SET_SIZE = 100
_WAYS: tuple[NoticeChannel, ...] = ("EMAIL", "SMS")

log = structlog.get_logger(__name__)


async def tell_answers(resources: Resources, writer: NoticeWriter) -> int:
    """Answers looked at; 0 when nothing was left."""
    async with resources.database.connection() as connection:
        found = await find_untold(connection, _SET_SIZE)
    for untold in found:
        try:
            await _tell(resources, writer, untold)
        except Unavailable:
            raise
        except Exception as error:
            # One that cannot be told must not come again and again: the page tells it.
            log.exception("cannot tell", merchant_id=untold.merchant_id, error=type(error).__name__)
            await _give_up(resources, untold)
    return len(found)


async def _tell(resources: Resources, writer: NoticeWriter, untold: Untold) -> None:
    async with resources.database.transaction() as tx:
        # The claim before everything else.
        claim = await lock_claim(tx, untold.merchant_id, untold.claim_id)
        merchant = await load_merchant(tx, untold.merchant_id)
        if claim is None or merchant is None or not await is_as_found(tx, untold):
            return
        work = Work.open(resources, tx, merchant, SYSTEM)
        dispute = await load_dispute(tx, work.merchant_id, untold.claim_id, untold.dispute_id)
        debtor = await load_debtor(tx, work.merchant_id, untold.claim_id)
        assert dispute is not None, "locked with its claim"
        assert debtor is not None, "goes with its claim"
        if untold.state in (None, "FAILED"):
            for addressee in _list_ways(work, untold, debtor):
                facts = _describe(work, claim, dispute)
                notice = writer.write(merchant, addressee, facts)
                sent = await send_notice(work, resources.keys, notice)
                if isinstance(sent, UUID):
                    await save_answer_notice(tx, untold, sent)
                    return
        told_at = work.now if untold.state == "ACCEPTED" else None
        await _finish(work, untold, dispute, told_at)


async def _give_up(resources: Resources, untold: Untold) -> None:
    async with resources.database.transaction() as tx:
        claim = await lock_claim(tx, untold.merchant_id, untold.claim_id)
        merchant = await load_merchant(tx, untold.merchant_id)
        if claim is None or merchant is None or not await is_as_found(tx, untold):
            return
        work = Work.open(resources, tx, merchant, SYSTEM)
        dispute = await load_dispute(tx, work.merchant_id, untold.claim_id, untold.dispute_id)
        assert dispute is not None, "locked with its claim"
        await _finish(work, untold, dispute, None)


async def _finish(work: Work, untold: Untold, dispute: Dispute, told_at: datetime | None) -> None:
    """The hold, if it still stands, ends after the quiet days; a sandbox's has its end already."""
    await save_told(work.tx, untold, told_at)
    await save_audit(
        work, "dispute.tell", f"claim:{untold.claim_id}",
        disputeId=str(untold.dispute_id), isTold=told_at is not None,
    )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    assert dispute.resolved_at is not None, "only answers are told"
    quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
    until = decide_rest(dispute.resolved_at, told_at, quiet_days)
    await end_hold_at(work.tx, work.merchant_id, dispute.claim_id, dispute.hold_id, until)


def _list_ways(work: Work, untold: Untold, debtor: Debtor) -> Iterator[Addressee]:
    """Those not tried yet, in their order, to addresses there are."""
    addresses: dict[NoticeChannel, str | None] = {
        "EMAIL": debtor.email, "SMS": debtor.mobile_number,
    }  # fmt: skip
    language = debtor.language or work.merchant.configuration.language
    tried = 0 if untold.channel is None else _WAYS.index(untold.channel) + 1
    for channel in _WAYS[tried:]:
        address = addresses[channel]
        if address is not None:
            yield Addressee(untold.claim_id, channel, address, language)


def _describe(work: Work, claim: LockedClaim, dispute: Dispute) -> DisputeAnswerFacts:
    return DisputeAnswerFacts(
        reference_number=claim.reference_number,
        case_number=render_case_number(dispute.dispute_id),
        is_accepted=dispute.state is DisputeState.ACCEPTED,
        is_closed=claim.status not in ACTIVE,
        reason=dispute.resolution,
        quiet_days=work.merchant.configuration.disputes.quiet_days_after_answer,
    )
