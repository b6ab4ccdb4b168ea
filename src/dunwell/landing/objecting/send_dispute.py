"""Sends a dispute that was drafted on the page: it is opened with its files, once for each form."""

from dataclasses import replace

from dunwell.claims.store import lock_claim
from dunwell.disputes.add_evidence import add_evidence
from dunwell.disputes.dispute import NewDispute
from dunwell.disputes.open_dispute import open_dispute
from dunwell.landing.objecting.keep_draft import Kept, keep_draft
from dunwell.landing.session.drafts import Typed
from dunwell.landing.session.session import Session
from dunwell.landing.session.store_drafts import save_sent
from dunwell.merchants.account import Work


async def send_dispute(work: Work, session: Session, typed: Typed, new: NewDispute) -> Kept:
    """With the dispute's id as what was made; a form that was sent before opens nothing.

    Raises what `open_dispute` does.
    """
    # Before the draft, as everybody who locks both does.
    await lock_claim(work.tx, work.merchant_id, session.claim_id)
    kept = await keep_draft(work, session, typed)
    if kept.made_id is not None:
        return kept
    dispute = await open_dispute(work, session.claim_id, new)
    if kept.ticket_ids:
        await add_evidence(work, session.claim_id, dispute.dispute_id, kept.ticket_ids)
    await save_sent(
        work.tx, session, typed.subject, form_id=typed.form_id, made_id=dispute.dispute_id
    )
    return replace(kept, made_id=dispute.dispute_id)
