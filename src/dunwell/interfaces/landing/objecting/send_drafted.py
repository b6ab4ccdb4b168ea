"""Sends what was drafted on the page: a dispute with its files, once for each form; and to one that
stands the files that were chosen for its reason in a form that could not be taken any more."""

from dataclasses import replace
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.answer_dispute import add_evidence
from dunwell.cases.disputes.dispute import Dispute, NewDispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.store import load_evidence_digests
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.objecting.disputing import SUBJECT
from dunwell.interfaces.landing.objecting.keep_draft import KeptDraft, keep_draft
from dunwell.interfaces.landing.objecting.reached import find_reached_address
from dunwell.interfaces.landing.session.drafts import DRAFT_LASTS, DraftKey, Typed, own_by_claim
from dunwell.interfaces.landing.session.store_drafts import lock_draft, remove_files, save_sent
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.platform.crypto import KeyRing


async def send_dispute(
    work: Work, keys: KeyRing, opened: OpenedClaim, typed: Typed, new: NewDispute
) -> KeptDraft:
    """With the dispute's id as what was made; a form that was sent before opens nothing, nor one
    beside which somebody has typed something else.

    Raises what `open_dispute` does.
    """
    work.need(Right.CHANGE_CLAIMS)
    claim_id = opened.facts.claim_id
    # Before the draft, as everybody who locks both does.
    await lock_claim(work.tx, work.merchant_id, claim_id)
    kept = await keep_draft(work, claim_id, typed)
    if kept.made_id is not None or kept.is_overtaken:
        return kept
    reached = await find_reached_address(work.tx, keys, opened)
    dispute = await open_dispute(work, keys, claim_id, new, reached=reached)
    if kept.ticket_ids:
        await add_evidence(work, claim_id, dispute.dispute_id, kept.ticket_ids)
    key = own_by_claim(work.merchant_id, claim_id, typed.subject)
    await save_sent(work.tx, key, form_id=typed.form_id, made_id=dispute.dispute_id)
    return replace(kept, made_id=dispute.dispute_id)


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
