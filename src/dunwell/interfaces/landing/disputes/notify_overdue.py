"""Notify merchants, at their contact address, of disputes whose answer is overdue, once for each
dispute. The claim stays on hold, because the hold of an open dispute has no end."""

from uuid import UUID

import structlog
from prometheus_client import Counter

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.answer_days import compute_answer_day, compute_overdue_before
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.disputes.dispute import ClaimDispute, render_case_number
from dunwell.cases.disputes.store import (
    find_dispute,
    list_merchants_with_unreported_disputes,
    list_overdue_disputes,
    mark_overdue_reported,
)
from dunwell.cases.modalities.progress import local_date
from dunwell.contact.messages.templates.creditors import build_creditor
from dunwell.contact.notices.notice import Addressee, NoticeLimitReached, RecipientUnreachable
from dunwell.contact.notices.occasions.facts import OverdueFacts
from dunwell.contact.notices.send_notice import send_notice
from dunwell.core.claims.store import LockedClaim, lock_claim
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Unavailable
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources

OVERDUE_SECONDS = 60.0
_BATCH_SIZE = 100
_OVERDUE = Counter(
    "dunwell_disputes_overdue", "Disputes that were not answered by the promised day.",
    registry=REGISTRY,
)  # fmt: skip

log = structlog.get_logger(__name__)


async def notify_overdue_disputes(resources: Resources, writer: NoticeWriter) -> int:
    """Notify merchants of overdue disputes. Return the number of disputes that were handled."""
    notified = 0
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_with_unreported_disputes(connection)
    for merchant_id in merchant_ids:
        async with resources.database.connection() as connection:
            merchant = await load_merchant(connection, merchant_id)
            found = await _list_overdue(resources, connection, merchant) if merchant else []
        for claim_id, dispute_id in found:
            try:
                notified += await _notify_merchant(
                    resources,
                    writer,
                    merchant_id=merchant_id,
                    claim_id=claim_id,
                    dispute_id=dispute_id,
                )
            except Unavailable:
                raise
            except Exception as error:
                log.exception(
                    "cannot notify merchant", merchant_id=merchant_id, error=type(error).__name__
                )
    return notified


async def _list_overdue(
    resources: Resources, connection: Connection, merchant: Merchant
) -> list[tuple[int, UUID]]:
    configuration = merchant.configuration
    before = compute_overdue_before(
        merchant.now(resources.clock),
        configuration.disputes.answer_within_days,
        configuration.timezone,
    )
    return await list_overdue_disputes(connection, merchant.merchant_id, before, _BATCH_SIZE)


async def _notify_merchant(
    resources: Resources, writer: NoticeWriter, merchant_id: int, claim_id: int, dispute_id: UUID
) -> bool:
    """Notify the merchant. Return False if the dispute was answered or the merchant was notified
    meanwhile, or the claim or the merchant no longer exists."""
    async with resources.database.transaction() as tx:
        # Lock the claim before all other rows, as everywhere.
        claim = await lock_claim(tx, merchant_id, claim_id)
        merchant = await load_merchant(tx, merchant_id)
        if claim is None or merchant is None:
            return False
        work = Work.open(resources, tx, merchant, SYSTEM)
        if not await mark_overdue_reported(tx, merchant_id, dispute_id, work.real_now):
            return False
        dispute = await find_dispute(tx, merchant_id, claim_id, dispute_id)
        assert dispute is not None, "locked with its claim"
        language = merchant.configuration.language
        addressee = Addressee(claim_id, "EMAIL", build_creditor(merchant).email, language)
        notice = writer.write(merchant, addressee, _describe(work, claim, dispute))
        sent = await send_notice(work, resources.keys, notice)
        if isinstance(sent, NoticeLimitReached | RecipientUnreachable):
            # The list of disputes and the metric still show the dispute.
            log.warning("merchant not notified", merchant_id=merchant_id, claim_id=claim_id)
    _OVERDUE.inc()
    return True


def _describe(work: Work, claim: LockedClaim, dispute: ClaimDispute) -> OverdueFacts:
    configuration = work.merchant.configuration
    within, timezone = configuration.disputes.answer_within_days, configuration.timezone
    return OverdueFacts(
        reference_number=claim.reference_number,
        claim_id=str(claim.claim_id),
        dispute_id=str(dispute.dispute_id),
        case_number=render_case_number(dispute.dispute_id),
        opened_on=local_date(dispute.opened_at, timezone),
        answer_by=compute_answer_day(dispute.opened_at, within, timezone),
    )
