"""Assign one claim by the rules (spec, Start assignment; CONTRACT 5)."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.decision import ENDED
from dunwell.cases.assignment.facts import load_claim_facts
from dunwell.cases.assignment.matching import Match, match_rules
from dunwell.cases.assignment.outcome import Assignment
from dunwell.cases.assignment.rules import list_targets
from dunwell.cases.assignment.start_runs import start_runs
from dunwell.cases.assignment.store import lock_claims
from dunwell.cases.assignment.targets import Rulebook, find_today, load_rulebook
from dunwell.core.workflows.store import hold_workflows
from dunwell.platform.errors import InvalidState, NotFound


async def start_assignment(work: Work, claim_id: int) -> Assignment:
    """Give an unassigned claim what the rules say; one in process keeps what it has.

    No workflow in the answer: no rule matches. Raises NotFound and InvalidState (ended).
    """
    work.need(Right.CHANGE_CLAIMS)
    rulebook = await load_rulebook(work.tx, work.merchant)
    # Workflows before claims; what is deleted since the rules were read is nobody's target.
    held = await hold_workflows(work.tx, work.merchant_id, list_targets(rulebook.rules))
    claim = (await lock_claims(work.tx, work.merchant_id, [claim_id])).get(claim_id)
    if claim is None:
        raise NotFound(f"There is no claim {claim_id}.")
    if claim.status in ENDED:
        raise InvalidState("The claim has ended; it cannot be assigned.", state=claim.status)
    if claim.workflow_id is not None:
        return Assignment(claim_id, claim.workflow_id)
    match = await _match(work, rulebook.only(held), claim_id)
    if match.workflow_id is None:
        return Assignment(claim_id, None)
    version = rulebook.versions[match.workflow_id]
    await start_runs(work, version, [claim], rules_version=rulebook.version)
    await save_audit(
        work, "claim.assign", f"claim:{claim_id}",
        before={"workflow": None},
        after={"workflow": str(version.workflow_id), "version": version.name},
        workflowId=str(version.workflow_id), version=version.name,
        rulesVersion=rulebook.version, rule=match.rule,
    )  # fmt: skip
    return Assignment(claim_id, version.workflow_id)


async def _match(work: Work, rulebook: Rulebook, claim_id: int) -> Match:
    """Of the claim as it stands, which the caller has locked."""
    facts = await load_claim_facts(work.tx, work.merchant_id, claim_id, find_today(work))
    assert facts is not None, "locked in this transaction"
    return match_rules(
        rulebook.rules,
        facts=facts.conditions,
        currency=facts.currency,
        targets=rulebook.targets,
        claim_id=claim_id,
    )
