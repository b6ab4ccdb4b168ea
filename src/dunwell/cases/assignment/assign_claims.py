"""Assign claims to a workflow or a scenario (spec, Assign claims to a workflow, to a scenario;
CONTRACT 5).

Claims that can be assigned are, whatever becomes of the others: failures are part of the answer,
not raised, because raising would undo what was assigned.
"""

from collections.abc import Sequence
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.decision import AssignableClaim, Target, decide_assignment
from dunwell.cases.assignment.outcome import Assignment, AssignmentFailure, AssignmentOutcome
from dunwell.cases.assignment.start_runs import start_runs
from dunwell.cases.assignment.store import lock_claims
from dunwell.core.workflows.scenarios.store import find_scenario_workflow
from dunwell.core.workflows.store import hold_workflows, load_current
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import NotFound

_NOT_SWITCHED = "The merchant is not switched to workflows; assign the claim to a scenario."


async def assign_to_workflow(
    work: Work, workflow_id: UUID, claim_ids: Sequence[int]
) -> AssignmentOutcome:
    """Start the current version on each claim; one it runs on already stays where it is.

    Results keep the order, repeats once. Raises NotFound: the merchant has no such workflow.
    """
    work.need(Right.CHANGE_CLAIMS)
    wanted = list(dict.fromkeys(claim_ids))
    if not work.merchant.switched_to_workflows:
        failures = [AssignmentFailure(claim_id, _NOT_SWITCHED) for claim_id in wanted]
        return AssignmentOutcome(failures=failures)
    return await _put_on_process(work, workflow_id, wanted)


async def assign_to_scenario(
    work: Work, scenario_id: int, claim_ids: Sequence[int]
) -> AssignmentOutcome:
    """Start the scenario on each claim, or after the switch the workflow it became: that has the id
    that the claims ran under before. One it runs on already stays where it is.

    Results keep the order, repeats once. Raises NotFound: the merchant has no such scenario.
    """
    work.need(Right.CHANGE_CLAIMS)
    workflow_id = await find_scenario_workflow(work.tx, work.merchant_id, scenario_id)
    if workflow_id is None:
        raise NotFound(f"There is no scenario {scenario_id}.")
    word = "workflow" if work.merchant.switched_to_workflows else "scenario"
    return await _put_on_process(work, workflow_id, list(dict.fromkeys(claim_ids)), word=word)


async def _put_on_process(
    work: Work, workflow_id: UUID, claim_ids: Sequence[int], *, word: str = "workflow"
) -> AssignmentOutcome:
    """The same under whatever name the merchant knows the process by, no id twice."""
    # Workflows before claims.
    held = await hold_workflows(work.tx, work.merchant_id, [workflow_id])
    if workflow_id not in held:
        raise NotFound(f"There is no {word} {workflow_id}.")
    wanted = list(claim_ids)
    found = await lock_claims(work.tx, work.merchant_id, wanted)
    version = await load_current(work.tx, work.merchant_id, workflow_id)
    is_enabled = held[workflow_id][1]
    target = _describe_target(work, workflow_id, version, is_enabled=is_enabled, word=word)
    decision = decide_assignment(wanted, found, target)
    if version is not None and decision.to_start:
        await start_runs(work, version, decision.to_start)
        await save_audit(
            work, "workflow.assign", f"workflow:{workflow_id}",
            before={"workflows": _list_former(decision.to_start)},
            after={"workflows": [str(workflow_id)], "version": version.name},
            claimIds=[claim.claim_id for claim in decision.to_start], version=version.name,
        )  # fmt: skip
    return AssignmentOutcome(
        [Assignment(each, workflow_id) for each in wanted if each not in decision.failures],
        [AssignmentFailure(claim_id, message) for claim_id, message in decision.failures.items()],
    )


def _list_former(claims: Sequence[AssignableClaim]) -> list[str]:
    """The workflows that the claims ran by until now, each once."""
    return sorted({str(each.workflow_id) for each in claims if each.workflow_id})


def _describe_target(
    work: Work, workflow_id: UUID, version: Version | None, *, is_enabled: bool, word: str
) -> Target:
    own = work.merchant.configuration.currency
    if version is None:
        return Target(workflow_id, own, "The workflow was never published; publish it first.")
    currency = version.definition.settings.currency or own
    obstacle = None if is_enabled else f"The {word} is deactivated; activate it first."
    return Target(workflow_id, currency, obstacle, word)
