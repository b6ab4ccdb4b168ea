"""Open a dispute for a debtor or the merchant: the claim's workflow stops, and the merchant is
notified.

Each dispute of a claim has its own hold. The workflow continues when the last hold has ended; steps
that became due in the meantime run in order. No confirmation is sent to a person who is not the
debtor or who has died.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import (
    RECENT_PERIOD,
    ClaimDispute,
    NewDispute,
    check_may_open,
    check_new_dispute,
    render_case_number,
)
from dunwell.cases.disputes.reasons import OfferedReason
from dunwell.cases.disputes.store import insert_dispute, list_recent_disputes
from dunwell.cases.disputes.wrong_person import ReachedAddress, withhold_claim
from dunwell.contact.notices.occasions.facts import DisputeReceivedFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.states import ACTIVE, HoldKind
from dunwell.core.events.payloads import disputed
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import InvalidState
from dunwell.platform.text.translation import LazyText


async def open_dispute(
    work: Work, keys: KeyRing, claim_id: int, new: NewDispute,
    *, reached: ReachedAddress | None = None,
) -> ClaimDispute:  # fmt: skip
    """Open a dispute. `reached` is the address whose link or code the debtor used.

    Raises NotFound, ValidationError with every fault, and InvalidState if the claim has ended or
    the debtor has an open dispute with this reason or opened too many.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim = await lock_claim_of_merchant(work, claim_id)
    reason = check_new_dispute(new, work.merchant.configuration.disputes, work.actor.kind)
    if claim.status not in ACTIVE:
        raise InvalidState(
            LazyText(
                "A claim that is %(claim_status)s can no longer be disputed.",
                claim_status=claim.status,
            ),
            state=claim.status,
        )
    if work.actor.kind is ActorKind.DEBTOR:
        since = work.now - RECENT_PERIOD
        earlier = await list_recent_disputes(work.tx, work.merchant_id, claim_id, since)
        check_may_open(reason, earlier, work.now)
    hold_id = await open_hold(work, claim_id, HoldKind.DISPUTE)
    dispute = _build_dispute(work, claim_id, new=new, reason=reason, hold_id=hold_id)
    await insert_dispute(work.tx, work.merchant_id, dispute)
    await publish_event(
        work,
        claim_id,
        lambda head: disputed(head, dispute.type, dispute.dispute_id, dispute.event_message),
    )
    if dispute.withholds_claim:
        await withhold_claim(work, keys, dispute, reached)
    else:
        await _notify_debtor(work, claim.reference_number, dispute)
    await save_audit(
        work, "dispute.open", f"claim:{claim_id}",
        after={"state": dispute.state, "type": dispute.type},
        disputeId=str(dispute.dispute_id), type=dispute.type,
    )  # fmt: skip
    return dispute


async def _notify_debtor(work: Work, reference_number: str, dispute: ClaimDispute) -> None:
    """Confirm the dispute to the debtor, also if staff recorded it after a call or a letter."""
    configuration = work.merchant.configuration
    within = configuration.disputes.answer_within_days
    facts = DisputeReceivedFacts(
        reference_number=reference_number,
        case_number=render_case_number(dispute.dispute_id),
        answer_on=compute_answer_day(dispute.opened_at, within, configuration.timezone),
    )
    await notify_debtor(work, dispute.claim_id, str(dispute.dispute_id), facts)


def _build_dispute(
    work: Work, claim_id: int, new: NewDispute, reason: OfferedReason, hold_id: UUID
) -> ClaimDispute:
    language = work.merchant.configuration.language
    return ClaimDispute(
        dispute_id=work.ids.new(work.now),
        claim_id=claim_id,
        type=reason.type,
        reason=None if reason.is_contract_type else reason.name,
        label=None if reason.is_contract_type else reason.label_in(language),
        message=new.message,
        answers=new.answers,
        hold_id=hold_id,
        actor_kind=work.actor.kind,
        opened_at=work.now,
        actor_id=work.actor.actor_id,
    )
