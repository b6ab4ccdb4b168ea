"""Does to some claims what a job does to each: by the use cases that do it to one, in its starter's
name, and says what became of each.

All of them are in one transaction. What is refused to one undoes nothing of the others.
"""

from collections.abc import Mapping, Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.core.workflows.store import hold_workflows, load_current
from dunwell.operations.jobs.decision import JobClaim, JobTarget, decide_row
from dunwell.operations.jobs.job import (
    Action,
    ArchiveAction,
    Assign,
    NotDone,
    Outcomes,
    Pause,
    RowOutcome,
    RowReason,
)
from dunwell.operations.jobs.store import load_facts, lock_claims
from dunwell.platform.database.database import savepoint
from dunwell.platform.errors import InsufficientScope, NotFound, Refusal, Unavailable


async def act_on_claims(work: Work, action: Action, claim_ids: Sequence[int]) -> Outcomes:
    """Locks the claims."""
    target = await find_target(work, action)
    await lock_claims(work.tx, work.merchant_id, claim_ids)
    facts = await load_facts(work.tx, work.merchant_id, claim_ids, work.now)
    outcomes = decide_rows(action, claim_ids, facts, target)
    to_do = [claim_id for claim_id in claim_ids if outcomes[claim_id] is None]
    return {**outcomes, **(await _do(work, action, to_do))}


async def find_target(work: Work, action: Action) -> JobTarget | None:
    """Of an assignment. Raises NotFound."""
    if not isinstance(action, Assign):
        return None
    # Workflows before claims.
    held = await hold_workflows(work.tx, work.merchant_id, [action.workflow_id])
    version = await load_current(work.tx, work.merchant_id, action.workflow_id)
    if action.workflow_id not in held or version is None:
        raise NotFound(f"There is no published workflow {action.workflow_id}.")
    own = work.merchant.configuration.currency
    return JobTarget(action.workflow_id, version.definition.settings.currency or own)


def decide_rows(
    action: Action, claim_ids: Sequence[int], facts: Mapping[int, JobClaim],
    target: JobTarget | None,
) -> dict[int, NotDone | None]:  # fmt: skip
    return {each: decide_row(action, facts.get(each), target) for each in claim_ids}


async def _do(work: Work, action: Action, claim_ids: Sequence[int]) -> Outcomes:
    if isinstance(action, Assign):
        return await _assign(work, action, claim_ids) if claim_ids else {}
    try:
        async with savepoint(work.tx):
            for claim_id in claim_ids:
                await _do_one(work, action, claim_id)
    except Unavailable:
        raise
    except Refusal:
        return {each: await _try_one(work, action, each) for each in claim_ids}
    return dict.fromkeys(claim_ids)


async def _try_one(work: Work, action: Action, claim_id: int) -> NotDone | None:
    try:
        async with savepoint(work.tx):
            await _do_one(work, action, claim_id)
    except Unavailable:
        raise
    except InsufficientScope:
        return NotDone(RowOutcome.FAILED, RowReason.RIGHT_LOST)
    except Refusal as refusal:
        return NotDone(RowOutcome.FAILED, RowReason.REFUSED, refusal.message)
    return None


async def _do_one(work: Work, action: Action, claim_id: int) -> None:
    if isinstance(action, Pause):
        await pause_claim(work, claim_id, until=action.until, reason=action.reason)
    elif isinstance(action, ArchiveAction):
        await archive_claim(work, claim_id)
    else:
        await resume_claim(work, claim_id)


async def _assign(work: Work, action: Assign, claim_ids: Sequence[int]) -> Outcomes:
    """Assigning takes many at once, and says of each why not."""
    try:
        async with savepoint(work.tx):
            done = await assign_to_workflow(work, action.workflow_id, claim_ids)
    except InsufficientScope:
        return dict.fromkeys(claim_ids, NotDone(RowOutcome.FAILED, RowReason.RIGHT_LOST))
    failures = {
        each.claim_id: NotDone(RowOutcome.FAILED, RowReason.REFUSED, each.message)
        for each in done.failures
    }
    return {each: failures.get(each) for each in claim_ids}
