"""The merchant answers a dispute, or the debtor takes it back: the process goes on, unless
something else holds it.

The claim is locked first, so that of two who end a dispute at once the second finds it ended.
Accepting withdraws the claim, unless that is declined; of a claim that has been paid or has ended
meanwhile the answer is recorded, and nothing else.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from dunwell.claims.access import access_claim
from dunwell.claims.holds import HoldKind
from dunwell.claims.lift_hold import lift_hold
from dunwell.claims.states import ACTIVE, Happening
from dunwell.claims.store import LockedClaim
from dunwell.disputes.dispute import Dispute, DisputeState, check_move
from dunwell.disputes.store import load_dispute, save_dispute_end
from dunwell.errors import Fault, NotFound, ValidationError
from dunwell.escalation.end_claim import end_claim
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit

Outcome = Literal[DisputeState.ACCEPTED, DisputeState.REJECTED]


@dataclass(frozen=True, slots=True)
class Resolution:
    outcome: Outcome
    # Of an accepted one; none: yes.
    end_claim: bool | None = None
    # For the debtor.
    message: str | None = None


async def resolve_dispute(
    work: Work, claim_id: int, dispute_id: UUID, resolution: Resolution
) -> Dispute:
    """The same outcome again changes nothing, whatever else is said with it.

    Raises NotFound, ValidationError (a rejection ends no claim) and InvalidState (the other outcome
    was given, or the dispute was withdrawn).
    """
    claim, dispute = await lock_dispute(work, claim_id, dispute_id)
    is_accepted = resolution.outcome is DisputeState.ACCEPTED
    if resolution.end_claim and not is_accepted:
        message = "Rejecting a dispute does not end the claim; leave it out, or accept the dispute."
        raise ValidationError([Fault("/endClaim", message, "NOT_ALLOWED")])
    if not check_move(dispute, resolution.outcome):
        return dispute
    resolved = replace(
        dispute,
        state=resolution.outcome,
        resolved_at=work.now,
        resolution=resolution.message,
        ended_claim=_ends_claim(claim, resolution) if is_accepted else None,
    )
    await _end(work, resolved)
    if resolved.ended_claim:
        await end_claim(work, claim, Happening.WITHDRAWN_BY_MERCHANT)
    await save_audit(
        work, "dispute.resolve", f"claim:{claim_id}",
        disputeId=str(dispute_id), state=resolved.state, endedClaim=bool(resolved.ended_claim),
    )  # fmt: skip
    return resolved


async def withdraw_dispute(work: Work, claim_id: int, dispute_id: UUID) -> Dispute:
    """Withdrawing again changes nothing. Raises NotFound and InvalidState (it was resolved)."""
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if not check_move(dispute, DisputeState.WITHDRAWN):
        return dispute
    withdrawn = replace(dispute, state=DisputeState.WITHDRAWN, resolved_at=work.now)
    await _end(work, withdrawn)
    await save_audit(work, "dispute.withdraw", f"claim:{claim_id}", disputeId=str(dispute_id))
    return withdrawn


async def lock_dispute(work: Work, claim_id: int, dispute_id: UUID) -> tuple[LockedClaim, Dispute]:
    """The locked claim and the dispute. Raises NotFound."""
    claim = await access_claim(work, claim_id)
    dispute = await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
    if dispute is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    return claim, dispute


async def _end(work: Work, ended: Dispute) -> None:
    """Store how it ended, and let go of its claim, which must be locked."""
    await save_dispute_end(work.tx, work.merchant_id, ended)
    await lift_hold(work, ended.claim_id, HoldKind.DISPUTE, hold_id=ended.hold_id)


def _ends_claim(claim: LockedClaim, resolution: Resolution) -> bool:
    return resolution.end_claim is not False and claim.status in ACTIVE
