"""Assign claims to a workflow or a scenario, or one claim by the rules.

The unsent contacts of the previous run are cancelled, and a new run starts (CONTRACT 5).
"""

from collections.abc import Sequence
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.decision import (
    ENDED,
    AssignableClaim,
    AssignedWorkflow,
    AssignmentFailure,
    AssignmentOutcome,
    AssignmentTarget,
    decide_assignment,
)
from dunwell.cases.assignment.matching import RuleMatch, match_rules
from dunwell.cases.assignment.rulebook import (
    Rulebook,
    compute_today,
    load_claim_facts,
    load_rulebook,
)
from dunwell.cases.assignment.rules import list_targets
from dunwell.cases.assignment.store import lock_claims, save_started_runs
from dunwell.contact.escalation.schedule import compute_first_due
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.core.workflows.scenarios.store import find_scenario_workflow
from dunwell.core.workflows.store import load_current, lock_workflows_for_reference
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import InvalidState, NotFound


async def start_runs(
    work: Work, version: Version, claims: Sequence[AssignableClaim],
    *, rules_version: int | None = None,
) -> None:  # fmt: skip
    """Start a run of each claim. The claims are locked and can be assigned.

    `rules_version` is the version of the rules that chose the workflow, or None if the request
    named the workflow.
    """
    moved = [claim.claim_id for claim in claims if claim.workflow_id is not None]
    if moved:
        await cancel_contacts(
            work.tx, work.merchant_id, moved, work.now, reason="The claim was assigned again."
        )
    timezone = work.merchant.configuration.timezone
    starts = [
        (
            claim.claim_id,
            compute_first_due(version.definition, timezone, claim.first_primary_due_on, work.now),
        )
        for claim in claims
    ]
    if starts:
        await save_started_runs(
            work.tx,
            work.merchant_id,
            version=version,
            starts=starts,
            now=work.now,
            rules_version=rules_version,
        )


_NOT_SWITCHED = "The merchant is not switched to workflows; assign the claim to a scenario."


async def assign_to_workflow(
    work: Work, workflow_id: UUID, claim_ids: Sequence[int]
) -> AssignmentOutcome:
    """Start the workflow's current version on each claim. A claim that already runs on it is
    unchanged.

    The results have the order of `claim_ids`, without repeated ids. Raises NotFound if the merchant
    has no such workflow.
    """
    work.require(Right.CHANGE_CLAIMS)
    requested_ids = list(dict.fromkeys(claim_ids))
    if not work.merchant.switched_to_workflows:
        failures = [AssignmentFailure(claim_id, _NOT_SWITCHED) for claim_id in requested_ids]
        return AssignmentOutcome(failures=failures)
    return await _assign(work, workflow_id, requested_ids)


async def assign_to_scenario(
    work: Work, scenario_id: int, claim_ids: Sequence[int]
) -> AssignmentOutcome:
    """Start the scenario on each claim, or the workflow that the scenario became. A claim that
    already runs on it is unchanged.

    A claim runs under the same workflow id before and after the switch. The results have the order
    of `claim_ids`, without repeated ids. Raises NotFound if the merchant has no such scenario.
    """
    work.require(Right.CHANGE_CLAIMS)
    workflow_id = await find_scenario_workflow(work.tx, work.merchant_id, scenario_id)
    if workflow_id is None:
        raise NotFound(f"There is no scenario {scenario_id}.")
    word = "workflow" if work.merchant.switched_to_workflows else "scenario"
    return await _assign(work, workflow_id, list(dict.fromkeys(claim_ids)), word=word)


async def _assign(
    work: Work, workflow_id: UUID, claim_ids: Sequence[int], *, word: str = "workflow"
) -> AssignmentOutcome:
    """Assign claims (no id twice) to the workflow. `word` is the merchant's term for a workflow.
    Raises NotFound."""
    # Workflows are locked before claims.
    locked = await lock_workflows_for_reference(work.tx, work.merchant_id, [workflow_id])
    if workflow_id not in locked:
        raise NotFound(f"There is no {word} {workflow_id}.")
    requested_ids = list(claim_ids)
    claims = await lock_claims(work.tx, work.merchant_id, requested_ids)
    version = await load_current(work.tx, work.merchant_id, workflow_id)
    is_enabled = locked[workflow_id][1]
    target = _describe_target(work, workflow_id, version, is_enabled=is_enabled, word=word)
    decision = decide_assignment(requested_ids, claims, target)
    if version is not None and decision.to_start:
        await start_runs(work, version, decision.to_start)
        await save_audit(
            work, "workflow.assign", f"workflow:{workflow_id}",
            before={"workflows": _list_previous_workflows(decision.to_start)},
            after={"workflows": [str(workflow_id)], "version": version.name},
            claimIds=[claim.claim_id for claim in decision.to_start], version=version.name,
        )  # fmt: skip
    return AssignmentOutcome(
        [
            AssignedWorkflow(each, workflow_id)
            for each in requested_ids
            if each not in decision.failures
        ],
        [AssignmentFailure(claim_id, message) for claim_id, message in decision.failures.items()],
    )


def _list_previous_workflows(claims: Sequence[AssignableClaim]) -> list[str]:
    """Return the workflows of the claims' previous runs, each once."""
    return sorted({str(each.workflow_id) for each in claims if each.workflow_id})


def _describe_target(
    work: Work, workflow_id: UUID, version: Version | None, *, is_enabled: bool, word: str
) -> AssignmentTarget:
    merchant_currency = work.merchant.configuration.currency
    if version is None:
        return AssignmentTarget(
            workflow_id, merchant_currency, "The workflow was never published; publish it first."
        )
    currency = version.definition.settings.currency or merchant_currency
    obstacle = None if is_enabled else f"The {word} is deactivated; activate it first."
    return AssignmentTarget(workflow_id, currency, obstacle, word)


async def start_assignment(work: Work, claim_id: int) -> AssignedWorkflow:
    """Assign an unassigned claim by the rules. A claim with a workflow keeps it.

    The result has no workflow if no rule matches. Raises NotFound, and InvalidState for a claim
    that has ended.
    """
    work.require(Right.CHANGE_CLAIMS)
    rulebook = await load_rulebook(work.tx, work.merchant)
    # Workflows are locked before claims. A workflow that was deleted after the rules were read is
    # not a target any more.
    locked = await lock_workflows_for_reference(
        work.tx, work.merchant_id, list_targets(rulebook.rules)
    )
    claim = (await lock_claims(work.tx, work.merchant_id, [claim_id])).get(claim_id)
    if claim is None:
        raise NotFound(f"There is no claim {claim_id}.")
    if claim.status in ENDED:
        raise InvalidState("The claim has ended; it cannot be assigned.", state=claim.status)
    if claim.workflow_id is not None:
        return AssignedWorkflow(claim_id, claim.workflow_id)
    match = await _match(work, rulebook.restrict_to(locked), claim_id)
    if match.workflow_id is None:
        return AssignedWorkflow(claim_id, None)
    version = rulebook.versions[match.workflow_id]
    await start_runs(work, version, [claim], rules_version=rulebook.version)
    await save_audit(
        work, "claim.assign", f"claim:{claim_id}",
        before={"workflow": None},
        after={"workflow": str(version.workflow_id), "version": version.name},
        workflowId=str(version.workflow_id), version=version.name,
        rulesVersion=rulebook.version, rule=match.rule,
    )  # fmt: skip
    return AssignedWorkflow(claim_id, version.workflow_id)


async def _match(work: Work, rulebook: Rulebook, claim_id: int) -> RuleMatch:
    """Match the rules with the locked claim."""
    facts = await load_claim_facts(work.tx, work.merchant_id, claim_id, compute_today(work))
    assert facts is not None, "locked in this transaction"
    return match_rules(
        rulebook.rules,
        facts=facts.conditions,
        currency=facts.currency,
        targets=rulebook.targets,
        claim_id=claim_id,
    )
