"""What publishing a draft would do, for whoever has to say yes: differences, verdict, reach.

Nothing is changed. How the next contacts of running claims change is the preview's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.contact_waits import find_contact_warnings
from dunwell.cases.rollout.publish_workflow import find_publishing_faults
from dunwell.cases.rollout.store import count_active_claims
from dunwell.cases.rollout.uses import describe_count
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.versions.differences import find_differences, find_text_changes
from dunwell.core.workflows.versions.versions import (
    Verdict,
    Version,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.platform.errors import Fault, InvalidState


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """No `before`: the workflow was never published, and everything is new."""

    draft_id: UUID
    before: str | None
    # What the draft would be called; the same as before when nothing differs.
    after: str
    verdict: Verdict
    differences: list[str]
    # Place -> lines that begin with -, + or a space.
    text_changes: Mapping[str, list[str]]
    # Claims in process that take the draft over, and those that stay with what they have.
    reached: int
    staying: int
    # What keeps it from being published.
    faults: list[Fault]
    # What should be changed before, and keeps it from nothing.
    warnings: list[Fault]


async def plan_publication(work: Work, workflow_id: UUID) -> PublicationPlan:
    """Raises InvalidState: there is no draft."""
    work.need(Right.CONFIGURE)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None:
        raise InvalidState("The workflow has no draft; save one first.", state="PUBLISHED")
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    active = await count_active_claims(work.tx, work.merchant_id, workflow_id)
    verdict = Verdict.MAJOR
    if current is not None:
        verdict = find_verdict(current.definition, draft.definition)
    number = find_next_number(current, verdict)
    if current is not None and verdict is Verdict.NONE:
        number = (current.major, current.minor)
    old = draft.definition if current is None else current.definition
    reached = count_reached(current, verdict, active.get(workflow_id, {}))
    return PublicationPlan(
        draft_id=draft.version_id,
        before=None if current is None else current.name,
        after=render_version_name(*number),
        verdict=verdict,
        differences=find_differences(old, draft.definition),
        text_changes=find_text_changes(old, draft.definition),
        reached=reached,
        staying=sum(active.get(workflow_id, {}).values()) - reached,
        faults=await find_publishing_faults(work, workflow_id, draft.definition),
        warnings=find_contact_warnings(draft.definition),
    )


def count_reached(current: Version | None, verdict: Verdict, active: Mapping[int, int]) -> int:
    """A minor version reaches the claims of its major, a major none (spec, Workflow version 4, 5).

    `active`: major version -> claims in process on it.
    """
    if current is None or verdict is not Verdict.MINOR:
        return 0
    return active.get(current.major, 0)


def describe_reach(plan: PublicationPlan) -> str:
    takes = "takes" if plan.reached == 1 else "take"
    stays = "stays" if plan.staying == 1 else "stay"
    return (
        f"{describe_count(plan.reached)} in process {takes} it over, "
        f"{describe_count(plan.staying)} {stays} on the version of before"
    )
