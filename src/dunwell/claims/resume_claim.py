"""Lets a paused claim go on: its pauses fall, whoever made them; other holds stay."""

from dunwell.claims.holds import HoldKind
from dunwell.claims.lift_hold import lift_hold
from dunwell.merchants.account import Work


async def resume_claim(work: Work, claim_id: int) -> None:
    """Resuming what is not paused changes nothing. Raises NotFound."""
    await lift_hold(work, claim_id, HoldKind.PAUSE)
