"""A merchant's workflows for whoever keeps them: which version runs for how many claims, what the
draft holds. Claims are counted up to a bound, by an index, whatever their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.contact_waits import find_contact_warnings
from dunwell.cases.rollout.store import Running, count_running
from dunwell.core.workflows.change_workflow import check_switched
from dunwell.core.workflows.drafts.store import count_open_changes
from dunwell.core.workflows.store import Workflow, load_newest, load_workflows
from dunwell.core.workflows.versions.store import load_majors
from dunwell.core.workflows.versions.versions import render_version_name
from dunwell.platform.errors import Fault, NotFound

# Beyond it: more than that.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class RunningVersion:
    """claims: `MOST_COUNTED` + 1: more than can be counted in no time."""

    version: str
    claims: int


@dataclass(frozen=True, slots=True)
class LookedAtWorkflow:
    """version: the current one; None: never published. changes: in the draft. running: of the
    majors that claims run on, the newest first. warnings: what should be changed about the current
    version."""

    workflow_id: UUID
    name: str
    is_assignable: bool
    version: str | None
    version_id: UUID | None
    draft_id: UUID | None
    changes: int
    running: list[RunningVersion]
    warnings: list[Fault]

    @property
    def on_current(self) -> int:
        return sum(each.claims for each in self.running if each.version == self.version)

    @property
    def on_earlier(self) -> list[RunningVersion]:
        return [each for each in self.running if each.version != self.version]


async def look_at_workflows(work: Work) -> list[LookedAtWorkflow]:
    """In order of creation. Raises InvalidState: the merchant has scenarios."""
    work.need(Right.READ_CLAIMS)
    check_switched(work.merchant)
    return await _look_at(work, await load_workflows(work.tx, work.merchant_id))


async def has_published_workflow(work: Work) -> bool:
    work.need(Right.READ_CLAIMS)
    workflows = await load_workflows(work.tx, work.merchant_id)
    return any(each.major is not None for each in workflows)


async def look_at_workflow(work: Work, workflow_id: UUID) -> LookedAtWorkflow:
    """Raises NotFound, and InvalidState: the merchant has scenarios."""
    work.need(Right.READ_CLAIMS)
    check_switched(work.merchant)
    workflows = await load_workflows(work.tx, work.merchant_id)
    found = await _look_at(work, [each for each in workflows if each.workflow_id == workflow_id])
    if not found:
        raise NotFound(f"There is no workflow {workflow_id}.")
    return found[0]


async def _look_at(work: Work, workflows: Sequence[Workflow]) -> list[LookedAtWorkflow]:
    ids = [each.workflow_id for each in workflows]
    majors = await load_majors(work.tx, work.merchant_id, ids)
    running = await count_running(work.tx, work.merchant_id, [*majors], limit=MOST_COUNTED + 1)
    changes = await count_open_changes(work.tx, work.merchant_id)
    current = {(each.workflow_id, each.major) for each in workflows if each.major is not None}
    versions = await load_newest(work.tx, work.merchant_id, current)
    warnings = {
        workflow_id: find_contact_warnings(version.definition)
        for (workflow_id, _), version in versions.items()
    }
    return [
        _describe(
            each,
            majors,
            running=running,
            changes=changes.get(each.workflow_id, 0),
            warnings=warnings.get(each.workflow_id, []),
        )
        for each in workflows
    ]


def _describe(
    workflow: Workflow, majors: Mapping[tuple[UUID, int], int], running: Running, changes: int,
    warnings: list[Fault],
) -> LookedAtWorkflow:  # fmt: skip
    is_published = workflow.major is not None and workflow.minor is not None
    return LookedAtWorkflow(
        workflow_id=workflow.workflow_id,
        name=workflow.name,
        is_assignable=workflow.assignment_enabled,
        version=render_version_name(workflow.major or 0, workflow.minor or 0)
        if is_published
        else None,
        version_id=workflow.version_id,
        draft_id=workflow.draft_id,
        changes=changes,
        warnings=warnings,
        running=[
            RunningVersion(render_version_name(major, minor), running[workflow_id, major])
            for (workflow_id, major), minor in sorted(majors.items(), reverse=True)
            if workflow_id == workflow.workflow_id and running[workflow_id, major]
        ],
    )
