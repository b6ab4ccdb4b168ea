"""The merchant answers a dispute, or the debtor takes it back.

The claim is locked first, so that of two who end a dispute at once the second finds it ended.
Accepting withdraws the claim, unless that is declined. An answer that leaves the claim open keeps
it held: until the debtor was told of it and some quiet days have passed (`rest_after_answer`).
What the debtor takes back lets the process go on at once, unless something else holds it. Of a
claim that has been paid or has ended meanwhile the answer is recorded and told, and nothing else.

A dispute that withholds its claim (`disputes.withheld`) is told to nobody when it is accepted: the
address is a stranger's, or the person has died. When it is rejected or taken back, the claim is
released.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import (
    Dispute,
    DisputeState,
    check_move,
    decide_rest,
    render_case_number,
)
from dunwell.cases.disputes.reasons import BUILT_IN
from dunwell.cases.disputes.store import load_dispute, save_dispute_end
from dunwell.cases.disputes.withheld import release_claim
from dunwell.contact.escalation.end_claim import end_claim
from dunwell.contact.notices.occasions.facts import DisputeAnswerFacts
from dunwell.contact.notices.occasions.tell_debtor import tell_debtor
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.claim_holds import lift_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import ACTIVE, Happening
from dunwell.core.claims.store import LockedClaim, end_hold_at
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.lazy_text import LazyText

Outcome = Literal[DisputeState.ACCEPTED, DisputeState.REJECTED]


@dataclass(frozen=True, slots=True)
class Resolution:
    outcome: Outcome
    # Of an accepted one; none: yes.
    end_claim: bool | None = None
    # For the debtor.
    message: str | None = None


def find_faulty_outcome(outcome: str, *, ends_claim: bool | None) -> Iterator[Fault]:
    if ends_claim and outcome == DisputeState.REJECTED:
        message = "Rejecting a dispute does not end the claim; leave it out, or accept the dispute."
        yield Fault("/endClaim", message, "NOT_ALLOWED")


async def resolve_dispute(
    work: Work, claim_id: int, dispute_id: UUID, resolution: Resolution
) -> Dispute:
    """The same outcome again changes nothing, whatever else is said with it.

    Raises NotFound, ValidationError (a rejection ends no claim) and InvalidState (the other outcome
    was given, or the dispute was withdrawn).
    """
    work.need(Right.ANSWER)
    claim, dispute = await lock_dispute(work, claim_id, dispute_id)
    is_accepted = resolution.outcome is DisputeState.ACCEPTED
    if faults := list(find_faulty_outcome(resolution.outcome, ends_claim=resolution.end_claim)):
        raise ValidationError(faults)
    if not check_move(dispute, resolution.outcome):
        return dispute
    resolved = replace(
        dispute if is_accepted else await release_claim(work, dispute),
        state=resolution.outcome,
        resolved_at=work.now,
        resolution=resolution.message,
        ended_claim=_ends_claim(claim, resolution) if is_accepted else None,
    )
    await save_dispute_end(work.tx, work.merchant_id, resolved)
    is_told = not resolved.withholds_claim
    is_closed = claim.status not in ACTIVE or bool(resolved.ended_claim)
    if is_told and not is_closed:
        await _let_rest(work, resolved)
    else:
        await _let_go(work, resolved)
    if resolved.ended_claim:
        await end_claim(work, claim, Happening.WITHDRAWN_BY_MERCHANT)
    if is_told:
        await _tell(work, claim.reference_number, resolved, is_closed=is_closed)
    await save_audit(
        work, "dispute.resolve", f"claim:{claim_id}",
        before={"state": dispute.state},
        after={"state": resolved.state, "message": None if resolution.message is None else MASKED},
        disputeId=str(dispute_id), state=resolved.state, endedClaim=bool(resolved.ended_claim),
    )  # fmt: skip
    return resolved


async def withdraw_dispute(work: Work, claim_id: int, dispute_id: UUID) -> Dispute:
    """Withdrawing again changes nothing. Raises NotFound and InvalidState (it was resolved)."""
    work.need(Right.CHANGE_CLAIMS)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if not check_move(dispute, DisputeState.WITHDRAWN):
        return dispute
    released = await release_claim(work, dispute)
    withdrawn = replace(released, state=DisputeState.WITHDRAWN, resolved_at=work.now)
    await save_dispute_end(work.tx, work.merchant_id, withdrawn)
    await _let_go(work, withdrawn)
    await save_audit(
        work, "dispute.withdraw", f"claim:{claim_id}",
        before={"state": dispute.state}, after={"state": withdrawn.state},
        disputeId=str(dispute_id),
    )  # fmt: skip
    return withdrawn


async def confirm_right_person(work: Work, claim_id: int, dispute_id: UUID) -> Dispute:
    """The merchant knows that the claim has reached the right person, who lives: a dispute that
    withholds it is rejected if it is open, and the claim is released. Again it changes nothing.

    Raises NotFound, and InvalidState for a dispute that has never withheld its claim.
    """
    work.need(Right.ANSWER)
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.reason not in BUILT_IN:
        raise InvalidState(
            LazyText("This dispute does not say that the person is the wrong one."),
            state=str(dispute.state),
        )
    if dispute.state is DisputeState.OPEN:
        return await resolve_dispute(work, claim_id, dispute_id, Resolution(DisputeState.REJECTED))
    return await release_claim(work, dispute)


async def lock_dispute(work: Work, claim_id: int, dispute_id: UUID) -> tuple[LockedClaim, Dispute]:
    """The locked claim and the dispute. Raises NotFound."""
    claim = await access_claim(work, claim_id)
    dispute = await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
    if dispute is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    return claim, dispute


async def _let_rest(work: Work, answered: Dispute) -> None:
    """The hold gets its end when the answer was told. A sandbox's clock stands meanwhile: there it
    is told at the instant it was given."""
    if work.merchant.is_sandbox:
        quiet_days = work.merchant.configuration.disputes.quiet_days_after_answer
        until = decide_rest(work.now, None, quiet_days)
        await end_hold_at(
            work.tx,
            work.merchant_id,
            claim_id=answered.claim_id,
            hold_id=answered.hold_id,
            until=until,
        )


async def _let_go(work: Work, ended: Dispute) -> None:
    await lift_hold(work, ended.claim_id, HoldKind.DISPUTE, hold_id=ended.hold_id)


async def _tell(work: Work, reference_number: str, answered: Dispute, *, is_closed: bool) -> None:
    facts = DisputeAnswerFacts(
        reference_number=reference_number,
        case_number=render_case_number(answered.dispute_id),
        is_accepted=answered.state is DisputeState.ACCEPTED,
        is_closed=is_closed,
        reason=answered.resolution,
        quiet_days=work.merchant.configuration.disputes.quiet_days_after_answer,
    )
    await tell_debtor(work, answered.claim_id, str(answered.dispute_id), facts)


def _ends_claim(claim: LockedClaim, resolution: Resolution) -> bool:
    return resolution.end_claim is not False and claim.status in ACTIVE
