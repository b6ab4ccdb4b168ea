"""Sends a dispute that was drafted on the page: it is opened with its files, once for each form."""

from dataclasses import replace

from dunwell.claims.store import lock_claim
from dunwell.disputes.add_evidence import add_evidence
from dunwell.disputes.dispute import NewDispute
from dunwell.disputes.open_dispute import open_dispute
from dunwell.landing.objecting.keep_draft import KeptDraft, keep_draft
from dunwell.landing.session.drafts import Typed, own_by_claim
from dunwell.landing.session.store_drafts import save_sent
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right


async def send_dispute(work: Work, claim_id: int, typed: Typed, new: NewDispute) -> KeptDraft:
    """With the dispute's id as what was made; a form that was sent before opens nothing, nor one
    beside which somebody has typed something else.

    Raises what `open_dispute` does.
    """
    work.need(Right.CHANGE_CLAIMS)
    # Before the draft, as everybody who locks both does.
    await lock_claim(work.tx, work.merchant_id, claim_id)
    kept = await keep_draft(work, claim_id, typed)
    if kept.made_id is not None or kept.is_overtaken:
        return kept
    dispute = await open_dispute(work, claim_id, new)
    if kept.ticket_ids:
        await add_evidence(work, claim_id, dispute.dispute_id, kept.ticket_ids)
    key = own_by_claim(work.merchant_id, claim_id, typed.subject)
    await save_sent(work.tx, key, form_id=typed.form_id, made_id=dispute.dispute_id)
    return replace(kept, made_id=dispute.dispute_id)
