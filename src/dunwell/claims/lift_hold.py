"""Lifts a claim's holds of one kind, or one of them; the process goes on when the last falls."""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.claims.holds import HoldKind
from dunwell.claims.store_holds import lift_standing_holds
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def lift_hold(
    work: Work, claim_id: int, kind: HoldKind, *, hold_id: UUID | None = None
) -> None:
    """`hold_id`: that one alone. Raises NotFound. Lifting what does not stand changes nothing."""
    await access_claim(work, claim_id)
    await lift_standing_holds(
        work.tx, work.merchant_id, claim_id=claim_id, kind=kind, now=work.now, hold_id=hold_id
    )
    await save_audit(work, "hold.lift", f"claim:{claim_id}", before={"kind": kind}, kind=kind)
