"""Assign one claim by the rules (spec, Start assignment; CONTRACT 5)."""

from dunwell.assignment.decision import ENDED
from dunwell.assignment.outcome import Assignment
from dunwell.assignment.start_runs import start_runs
from dunwell.assignment.store import lock_claims
from dunwell.assignment.targets import accepts_currency, load_default_target
from dunwell.errors import InvalidState, NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def start_assignment(work: Work, claim_id: int) -> Assignment:
    """Give an unassigned claim what the rules say; one in process keeps what it has.

    No workflow in the answer: no rule matches. Raises NotFound and InvalidState (ended).
    """
    claim = (await lock_claims(work.tx, work.merchant_id, [claim_id])).get(claim_id)
    if claim is None:
        raise NotFound(f"There is no claim {claim_id}.")
    if claim.status in ENDED:
        raise InvalidState("The claim has ended; it cannot be assigned.", state=claim.status)
    if claim.workflow_id is not None:
        return Assignment(claim_id, claim.workflow_id)
    version = await load_default_target(work.tx, work.merchant)
    if version is None or not accepts_currency(version, work.merchant, claim.currency):
        return Assignment(claim_id, None)
    await start_runs(work, version, [claim])
    await save_audit(
        work, "claim.assign", f"claim:{claim_id}",
        workflowId=str(version.workflow_id), version=version.name,
    )  # fmt: skip
    return Assignment(claim_id, version.workflow_id)
