"""Resolve, assign and withdraw disputes, and add files to them.

After the merchant's response, the claim stays on hold until the response has been delivered and the
quiet days are over.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import Assignee, build_assignee_error, check_assignment
from dunwell.accounts.users.store import load_assignees_by_id
from dunwell.cases.disputes.dispute import (
    ClaimDispute,
    DisputeState,
    check_file_count,
    check_transition,
    compute_hold_end,
    render_case_number,
)
from dunwell.cases.disputes.reasons import BUILT_IN_REASONS
from dunwell.cases.disputes.store import (
    count_evidence_files,
    find_assignee_id,
    find_dispute,
    insert_evidence_files,
    save_assignee,
    save_dispute_end,
    save_dispute_hold,
    save_response_delivery,
)
from dunwell.cases.disputes.wrong_person import release_claim
from dunwell.contact.escalation.end_claim import end_claim
from dunwell.contact.notices.occasions.facts import DisputeAnswerFacts, OccasionOutcome
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.claim_holds import ensure_hold, lift_holds
from dunwell.core.claims.states import ACTIVE, ClaimTransition, HoldKind
from dunwell.core.claims.store import LockedClaim, save_hold_end
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.translation import LazyText

ResolutionOutcome = Literal[DisputeState.ACCEPTED, DisputeState.REJECTED]


@dataclass(frozen=True, slots=True)
class DisputeResolution:
    outcome: ResolutionOutcome
    # True if accepting the dispute ends the claim. None means yes.
    end_claim: bool | None = None
    # The response that the debtor reads.
    message: str | None = None


def list_outcome_faults(outcome: str, *, ends_claim: bool | None) -> Iterator[Fault]:
    if ends_claim and outcome == DisputeState.REJECTED:
        message = "Rejecting a dispute does not end the claim. Omit endClaim, or accept it."
        yield Fault("/endClaim", message, "NOT_ALLOWED")


async def resolve_dispute(
    work: Work, claim_id: int, dispute_id: UUID, resolution: DisputeResolution
) -> ClaimDispute:
    """Accept or reject the dispute. Repeating the outcome changes nothing, even with other details.

    Raises NotFound, ValidationError if a rejection is to end the claim, and InvalidState if the
    other outcome was given or the dispute was withdrawn.
    """
    work.require(Right.ANSWER)
    claim, dispute = await lock_dispute(work, claim_id, dispute_id)
    is_accepted = resolution.outcome is DisputeState.ACCEPTED
    if faults := list(list_outcome_faults(resolution.outcome, ends_claim=resolution.end_claim)):
        raise ValidationError(faults)
    if not check_transition(dispute, resolution.outcome):
        return dispute
    resolved = replace(
        dispute if is_accepted else await release_claim(work, dispute),
        state=resolution.outcome,
        resolved_at=work.now,
        resolution=resolution.message,
        ended_claim=_ends_claim(claim, resolution) if is_accepted else None,
    )
    await save_dispute_end(work.tx, work.merchant_id, resolved)
    notifies_debtor = not resolved.withholds_claim
    is_closed = claim.status not in ACTIVE or bool(resolved.ended_claim)
    if notifies_debtor and not is_closed:
        await _end_sandbox_hold(work, resolved)
    else:
        await _lift_dispute_hold(work, resolved)
    if resolved.ended_claim:
        await end_claim(work, claim, ClaimTransition.WITHDRAWN_BY_MERCHANT)
    if notifies_debtor:
        await _notify_debtor(work, claim.reference_number, resolved, is_closed=is_closed)
    await save_audit(
        work, "dispute.resolve", f"claim:{claim_id}",
        before={"state": dispute.state},
        after={"state": resolved.state, "message": None if resolution.message is None else MASKED},
        disputeId=str(dispute_id), state=resolved.state, endedClaim=bool(resolved.ended_claim),
    )  # fmt: skip
    return resolved


async def withdraw_dispute(work: Work, claim_id: int, dispute_id: UUID) -> ClaimDispute:
    """Withdraw the dispute for the debtor. Repeating it changes nothing.

    Raises NotFound, and InvalidState if the dispute was resolved.
    """
    work.require(Right.CHANGE_CLAIMS)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if not check_transition(dispute, DisputeState.WITHDRAWN):
        return dispute
    released = await release_claim(work, dispute)
    withdrawn = replace(released, state=DisputeState.WITHDRAWN, resolved_at=work.now)
    await save_dispute_end(work.tx, work.merchant_id, withdrawn)
    await _lift_dispute_hold(work, withdrawn)
    await save_audit(
        work, "dispute.withdraw", f"claim:{claim_id}",
        before={"state": dispute.state}, after={"state": withdrawn.state},
        disputeId=str(dispute_id),
    )  # fmt: skip
    return withdrawn


async def confirm_right_person(work: Work, claim_id: int, dispute_id: UUID) -> ClaimDispute:
    """Confirm that the claim reached the right, living person.

    The dispute that withholds the claim is rejected if it is open, and the claim is shown again.
    Repeating it changes nothing. Raises NotFound, and InvalidState for a dispute that never
    withheld its claim.
    """
    work.require(Right.ANSWER)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.reason not in BUILT_IN_REASONS:
        raise InvalidState(
            LazyText("This dispute does not say that the wrong person was contacted."),
            state=str(dispute.state),
        )
    if dispute.state is DisputeState.OPEN:
        return await resolve_dispute(
            work, claim_id, dispute_id, DisputeResolution(DisputeState.REJECTED)
        )
    return await release_claim(work, dispute)


async def lock_dispute(
    work: Work, claim_id: int, dispute_id: UUID
) -> tuple[LockedClaim, ClaimDispute]:
    """Return the locked claim and the dispute. Raises NotFound."""
    claim = await lock_claim_of_merchant(work, claim_id)
    dispute = await find_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
    if dispute is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    return claim, dispute


async def _end_sandbox_hold(work: Work, answered: ClaimDispute) -> None:
    """Set the end of the hold for a sandbox merchant, whose clock does not move while the response
    is delivered. Otherwise the end is set after delivery."""
    if work.merchant.is_sandbox:
        quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
        until = compute_hold_end(work.now, None, quiet_days)
        await save_hold_end(
            work.tx,
            work.merchant_id,
            claim_id=answered.claim_id,
            hold_id=answered.hold_id,
            until=until,
        )


async def _lift_dispute_hold(work: Work, ended: ClaimDispute) -> None:
    await lift_holds(work, ended.claim_id, HoldKind.DISPUTE, hold_id=ended.hold_id)


async def _notify_debtor(
    work: Work, reference_number: str, answered: ClaimDispute, *, is_closed: bool
) -> None:
    facts = DisputeAnswerFacts(
        reference_number=reference_number,
        case_number=render_case_number(answered.dispute_id),
        is_accepted=answered.state is DisputeState.ACCEPTED,
        is_closed=is_closed,
        reason=answered.resolution,
        quiet_days=work.merchant.configuration.disputes.quiet_days_after_answer,
    )
    await notify_debtor(work, answered.claim_id, str(answered.dispute_id), facts)


def _ends_claim(claim: LockedClaim, resolution: DisputeResolution) -> bool:
    return resolution.end_claim is not False and claim.status in ACTIVE


async def assign_dispute(
    work: Work,
    claim_id: int,
    dispute_id: UUID,
    assignee_id: UUID | None,
    *,
    expected_id: UUID | None,
) -> None:
    """Assign the dispute. Assigning it to its present assignee changes nothing.

    `expected_id` is the assignee that the user saw. Raises NotFound, InvalidState if the dispute
    has ended, EditConflict if it has another assignee, and ValidationError if the new assignee may
    not respond here.
    """
    work.require(Right.ANSWER)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise InvalidState("The dispute has already ended.", state=str(dispute.state))
    assignee = None
    if assignee_id is not None:
        assignee = (await load_assignees_by_id(work.tx, work.merchant_id, [assignee_id])).get(
            assignee_id
        )
        if assignee is None:
            raise build_assignee_error()
    current = await find_assignee_id(work.tx, work.merchant_id, dispute_id)
    if not check_assignment(current, expected_id, assignee):
        return
    await save_assignee(work.tx, work.merchant_id, dispute_id, assignee_id)
    await save_audit(
        work, "dispute.assign", f"claim:{claim_id}",
        before={"assignee": current and str(current)},
        after={"assignee": assignee_id and str(assignee_id)},
        disputeId=str(dispute_id),
    )  # fmt: skip


async def find_assignee(work: Work, dispute_id: UUID) -> Assignee | None:
    """Return the assignee, or None if the dispute is unassigned or does not exist."""
    work.require(Right.READ_CLAIMS)
    assignee_id = await find_assignee_id(work.tx, work.merchant_id, dispute_id)
    if assignee_id is None:
        return None
    return (await load_assignees_by_id(work.tx, work.merchant_id, [assignee_id]))[assignee_id]


async def add_evidence(
    work: Work, claim_id: int, dispute_id: UUID, ticket_ids: Collection[UUID]
) -> None:
    """Add uploads of the merchant that are not used elsewhere.

    Raises NotFound, InvalidState if the dispute was resolved or withdrawn, and ValidationError if
    there are too many files.
    """
    work.require(Right.CHANGE_CLAIMS)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise InvalidState(
            f"The dispute is already {dispute.state} and accepts no more files.",
            state=str(dispute.state),
        )
    key = (work.merchant_id, dispute_id)
    present = await count_evidence_files(work.tx, *key)
    check_file_count(present, len(ticket_ids))
    tickets = {work.ids.new(work.now): ticket_id for ticket_id in ticket_ids}
    await insert_evidence_files(work.tx, key, tickets=tickets, now=work.now, actor=work.actor)
    await save_audit(
        work, "dispute.addFiles", f"claim:{claim_id}",
        before={"files": present}, after={"files": present + len(tickets)},
        disputeId=str(dispute_id), files=len(tickets),
    )  # fmt: skip


_HOLD_REASON = "The response was not delivered; the next channel is tried."


async def set_hold_after_response(
    work: Work, claim_id: int, subject: str, outcome: OccasionOutcome
) -> None:
    """Adjust the claim's hold after the delivery of a response. The claim must be locked.

    `subject` is the dispute's id. The hold of a sandbox merchant already has its end. A hold that
    has ended is opened again only while an undelivered response is sent through another channel.
    """
    dispute = await find_dispute(work.tx, work.merchant_id, claim_id, UUID(subject))
    if dispute is None or dispute.resolved_at is None:
        return
    await save_response_delivery(work.tx, work.merchant_id, dispute.dispute_id, outcome.at)
    if not outcome.is_under_way:
        await save_audit(
            work, "dispute.tell", f"claim:{claim_id}",
            disputeId=subject, isTold=outcome.at is not None,
        )  # fmt: skip
    if work.merchant.is_sandbox:
        return
    if outcome.is_under_way:
        await _keep_on_hold(work, dispute)
        return
    quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
    until = compute_hold_end(dispute.resolved_at, outcome.at, quiet_days)
    if until > work.now:
        await save_hold_end(
            work.tx, work.merchant_id, claim_id=claim_id, hold_id=dispute.hold_id, until=until
        )
    else:
        # The debtor cannot be reached, and the quiet days after the response are over.
        await lift_holds(work, claim_id, HoldKind.DISPUTE, hold_id=dispute.hold_id)


async def _keep_on_hold(work: Work, dispute: ClaimDispute) -> None:
    """Keep the claim on hold through the dispute's hold or a new one. An ended claim needs none."""
    hold_id = await ensure_hold(
        work, dispute.claim_id, HoldKind.DISPUTE, hold_id=dispute.hold_id, reason=_HOLD_REASON
    )
    if hold_id not in (None, dispute.hold_id):
        await save_dispute_hold(work.tx, work.merchant_id, dispute.dispute_id, hold_id)
