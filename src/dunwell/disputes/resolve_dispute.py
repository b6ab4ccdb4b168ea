"""The merchant answers a dispute. Accepting it withdraws the claim, unless that is declined.

Of a claim that has been paid or has ended meanwhile the answer is recorded, and nothing else.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from dunwell.claims.states import ACTIVE, Happening
from dunwell.claims.store import LockedClaim
from dunwell.disputes.dispute import Dispute, DisputeState, check_move
from dunwell.disputes.end_dispute import end_dispute, lock_dispute
from dunwell.errors import Fault, ValidationError
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
    await end_dispute(work, resolved)
    if resolved.ended_claim:
        await end_claim(work, claim, Happening.WITHDRAWN_BY_MERCHANT)
    await save_audit(
        work, "dispute.resolve", f"claim:{claim_id}",
        disputeId=str(dispute_id), state=resolved.state, endedClaim=bool(resolved.ended_claim),
    )  # fmt: skip
    return resolved


def _ends_claim(claim: LockedClaim, resolution: Resolution) -> bool:
    return resolution.end_claim is not False and claim.status in ACTIVE
