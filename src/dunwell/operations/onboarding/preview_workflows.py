"""What the workflows of a merchant file would do to the claims in process: part of a plan."""

from collections.abc import Iterator
from dataclasses import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import Asked, Effects, Progress
from dunwell.cases.rollout.preview.effects_views import describe_next_contacts, view_next_contacts
from dunwell.cases.rollout.preview.preview_effects import (
    MinorChange,
    preview_effects,
)
from dunwell.cases.rollout.publish_workflow import count_reached
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import find_differences
from dunwell.core.workflows.versions.versions import (
    Verdict,
    Version,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.operations.onboarding.checking import CheckedFile
from dunwell.operations.onboarding.report import WorkflowPreview
from dunwell.operations.onboarding.standing import Standing, StandingWorkflow
from dunwell.platform.crypto import KeyRing

# Next contacts alone: how the days ahead look is asked for one workflow at a time.
_ASKED = Asked(days=0, listed=20)


async def preview_workflows(
    work: Work, keys: KeyRing, checked: CheckedFile, standing: Standing,
    progress: Progress | None = None,
) -> list[tuple[WorkflowPreview, str | None]]:  # fmt: skip
    """In the order of the file, each with a line for people if it reaches any claim."""
    work.need(Right.CONFIGURE)
    previews = []
    for name, definition, workflow, current in _list_changed(checked, standing):
        verdict = find_verdict(current.definition, definition)
        reached = count_reached(current, verdict, workflow.active_claims)
        effects = Effects()
        if reached:
            change = MinorChange(current, definition, reached)
            asked = replace(_ASKED, progress=progress)
            effects = await preview_effects(work, keys, change, asked)
        staying = sum(workflow.active_claims.values()) - reached
        preview = _compose(
            name,
            wanted=definition,
            current=current,
            verdict=verdict,
            reach=(reached, staying, effects),
        )
        line = f'workflow "{name}": {describe_next_contacts(effects)}' if effects.claims else None
        previews.append((preview, line))
    return previews


def _list_changed(
    checked: CheckedFile, standing: Standing
) -> Iterator[tuple[str, Definition, StandingWorkflow, Version]]:
    if standing.scenarios:
        # Edited in place: there is no version to go over from.
        return
    for name, definition in checked.definitions.items():
        workflow = standing.workflows.get(name)
        current = workflow.current if workflow else None
        if workflow is not None and current is not None and current.definition != definition:
            yield name, definition, workflow, current


def _compose(
    name: str, wanted: Definition, current: Version, verdict: Verdict,
    reach: tuple[int, int, Effects],
) -> WorkflowPreview:  # fmt: skip
    reached, staying, effects = reach
    return WorkflowPreview(
        workflow=name,
        before=current.name,
        after=render_version_name(*find_next_number(current, verdict)),
        verdict=verdict,
        differences=find_differences(current.definition, wanted),
        claims_reached=reached,
        claims_staying=staying,
        next_contacts=view_next_contacts(effects),
    )
