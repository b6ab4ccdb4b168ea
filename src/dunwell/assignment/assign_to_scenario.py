"""Assign claims to a scenario (spec, Assign claims to a scenario; CONTRACT 5).

After the switch the claims get the workflow that the scenario became: it has the id that they ran
under before. Fails as assigning to a workflow does.
"""

from collections.abc import Sequence

from dunwell.assignment.assign_to_workflow import put_on_process
from dunwell.assignment.outcome import AssignmentOutcome
from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.workflows.scenario_store import find_scenario_workflow


async def assign_to_scenario(
    work: Work, scenario_id: int, claim_ids: Sequence[int]
) -> AssignmentOutcome:
    """Start the scenario on each claim; one it runs on already stays where it is.

    Results keep the order, repeats once. Raises NotFound: the merchant has no such scenario.
    """
    workflow_id = await find_scenario_workflow(work.tx, work.merchant_id, scenario_id)
    if workflow_id is None:
        raise NotFound(f"There is no scenario {scenario_id}.")
    word = "workflow" if work.merchant.switched_to_workflows else "scenario"
    return await put_on_process(work, workflow_id, list(dict.fromkeys(claim_ids)), word=word)
