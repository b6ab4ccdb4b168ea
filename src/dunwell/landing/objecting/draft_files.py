"""Adds files to an objection that stands: those that were chosen for it in a form that could not be
taken any more, and are kept for its reason."""

from uuid import UUID

from dunwell.claims.store import lock_claim
from dunwell.disputes.add_evidence import add_evidence
from dunwell.disputes.dispute import Dispute
from dunwell.disputes.evidence_store import load_evidence_digests
from dunwell.landing.objecting.disputing import SUBJECT
from dunwell.landing.session.drafts import DRAFT_LASTS, DraftKey, own_by_claim
from dunwell.landing.session.store_drafts import lock_draft, remove_files
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right


def name_draft(work: Work, dispute: Dispute) -> DraftKey:
    """Of its reason."""
    subject = SUBJECT + (dispute.reason or dispute.type)
    return own_by_claim(work.merchant_id, dispute.claim_id, subject)


async def send_draft_files(work: Work, dispute: Dispute) -> None:
    """All of them, but for those the dispute has already. Raises what `add_evidence` does."""
    work.need(Right.CHANGE_CLAIMS)
    # Before the draft, as everybody who locks both does.
    await lock_claim(work.tx, work.merchant_id, dispute.claim_id)
    key = name_draft(work, dispute)
    draft = await lock_draft(work.tx, key, work.real_now + DRAFT_LASTS)
    known = await load_evidence_digests(work.tx, work.merchant_id, dispute.dispute_id)
    new = [each.ticket_id for each in draft.files if each.sha256 not in known]
    if new:
        await add_evidence(work, dispute.claim_id, dispute.dispute_id, new)
    await remove_files(work.tx, key, [each.ticket_id for each in draft.files])


async def drop_draft_files(work: Work, dispute: Dispute) -> list[UUID]:
    """None of them is wanted any more: the uploads that nothing leads to now."""
    work.need(Right.CHANGE_CLAIMS)
    key = name_draft(work, dispute)
    draft = await lock_draft(work.tx, key, work.real_now + DRAFT_LASTS)
    ticket_ids = [each.ticket_id for each in draft.files]
    await remove_files(work.tx, key, ticket_ids)
    return ticket_ids
