"""What becomes of one scenario of a merchant file: it is created, or edited in place.

An edit takes effect at once, whether publishing is asked for or not: a scenario has no drafts.
Pure.
"""

from collections.abc import Iterator

from dunwell.cases.rollout.scenarios.scenario_edit import ScenarioEdit, decide_edit
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import find_differences
from dunwell.operations.onboarding.changes import Change, SaveScenario
from dunwell.operations.onboarding.standing import StandingScenario


def decide_scenario(
    name: str, wanted: Definition, description: str | None, standing: StandingScenario | None,
    *, is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """No description: the one there is. `is_plan` is a matter of words alone."""
    would = "would be " if is_plan else ""
    if standing is None:
        words = [f'scenario "{name}" {would}created']
        yield SaveScenario(name, wanted, description, words=words)
        return
    words = []
    if description is not None and description != standing.scenario.description:
        words.append(f'scenario "{name}": description changed')
    if wanted != standing.scenario.definition:
        reach = f"claims in process follow it with their next step: {standing.active_claims:,}"
        words.append(f'scenario "{name}" {would}changed in place; {reach}')
        told = [
            *find_differences(standing.scenario.definition, wanted),
            *find_edit(wanted, standing).words,
        ]
        words += [f'scenario "{name}": {line}' for line in told]
    if words:
        yield SaveScenario(name, wanted, description, words=words)


def find_edit(wanted: Definition, standing: StandingScenario) -> ScenarioEdit:
    """What the definition of the file means for the claims as they stand."""
    scenario = standing.scenario
    return decide_edit(scenario.definition, wanted, scenario.retired, standing.places)
