"""Overviews of a merchant's workflows for the portal: the claims on each version, and the content
of each draft."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.contact_waits import list_contact_warnings
from dunwell.cases.rollout.publish_workflow import list_publishing_faults
from dunwell.cases.rollout.store import RunningCounts, count_running
from dunwell.core.workflows.change_workflow import check_uses_workflows
from dunwell.core.workflows.checking import find_definition_faults, parse_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.drafts.store import count_open_changes, load_open_changes
from dunwell.core.workflows.store import (
    Workflow,
    load_assignability,
    load_current,
    load_draft,
    load_newest,
    load_workflows,
)
from dunwell.core.workflows.versions.differences import PartDifference, compare_parts
from dunwell.core.workflows.versions.parts import join_parts, list_parts
from dunwell.core.workflows.versions.store import load_majors
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    compute_next_number,
    compute_verdict,
    render_version_name,
)
from dunwell.platform.errors import Fault, NotFound, ValidationError


@dataclass(frozen=True, slots=True)
class DraftOverview:
    """A draft as it is edited. `current` is the published version, if there is one. `draft_id` is
    None if nothing was changed."""

    workflow_id: UUID
    name: str
    is_assignable: bool
    current: Version | None
    draft_id: UUID | None
    definition: Definition
    # The definition's parts (`list_parts`).
    parts: Mapping[str, Any]
    # Oldest first.
    changes: list[DraftChange]
    verdict: VersionVerdict
    # The name of the version that publishing would create.
    next_version: str
    # Compared with the published version.
    differences: list[PartDifference]
    # What prevents publication, with pointers from the definition's root.
    faults: list[Fault]
    # What should be changed, but does not prevent publication.
    warnings: list[Fault]


async def get_draft_overview(
    work: Work, workflow_id: UUID, typed: Mapping[str, Any] | None = None
) -> DraftOverview:
    """Return the draft, or else the current version, with parts that were typed but not saved.
    Typed parts with a wrong shape are reported as faults.

    Raises NotFound, and InvalidState if the merchant has scenarios.
    """
    work.require(Right.CONFIGURE)
    check_uses_workflows(work.merchant)
    known = await load_assignability(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = draft or current
    if known is None or newest is None:
        raise NotFound(f"There is no workflow {workflow_id}.")
    name, is_assignable = known
    definition, faults = _apply_typed_parts(newest.definition, typed or {})
    if not faults:
        faults = await list_publishing_faults(work, workflow_id, definition)
    verdict = compute_verdict(current.definition, definition) if current else VersionVerdict.MAJOR
    number = compute_next_number(current, verdict)
    if current is not None and verdict is VersionVerdict.NONE:
        number = (current.major, current.minor)
    parts = list_parts(definition)
    published = list_parts(current.definition) if current else {}
    return DraftOverview(
        workflow_id=workflow_id,
        name=name,
        is_assignable=is_assignable,
        current=current,
        draft_id=draft.version_id if draft else None,
        definition=definition,
        parts=parts,
        changes=await load_open_changes(work.tx, work.merchant_id, workflow_id),
        verdict=verdict,
        next_version=render_version_name(*number),
        differences=compare_parts(published, parts) if current else [],
        faults=faults,
        warnings=list_contact_warnings(definition),
    )


def _apply_typed_parts(
    definition: Definition, typed: Mapping[str, Any]
) -> tuple[Definition, list[Fault]]:
    """Return the definition with the typed parts, or the unchanged definition and the faults of the
    typed parts."""
    if not typed:
        return definition, []
    document = join_parts({**list_parts(definition), **typed})
    try:
        return parse_definition(document), []
    except ValidationError:
        return definition, find_definition_faults(document)


# Counting stops above this number.
MAX_COUNTED_CLAIMS = 10_000


@dataclass(frozen=True, slots=True)
class RunningVersion:
    """The claims on a version. `MAX_COUNTED_CLAIMS` + 1 stands for more claims than are counted."""

    version: str
    claims: int


@dataclass(frozen=True, slots=True)
class WorkflowOverview:
    """A workflow. `version` is the current version, or None if it was never published. `changes`
    counts the changes in the draft. `running` has the major versions with claims, newest first.
    `warnings` are about the current version."""

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


async def list_workflow_overviews(work: Work) -> list[WorkflowOverview]:
    """List the workflows by time of creation. Raises InvalidState if the merchant has scenarios."""
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    return await _build_overviews(work, await load_workflows(work.tx, work.merchant_id))


async def has_published_workflow(work: Work) -> bool:
    work.require(Right.READ_CLAIMS)
    workflows = await load_workflows(work.tx, work.merchant_id)
    return any(each.major is not None for each in workflows)


async def get_workflow_overview(work: Work, workflow_id: UUID) -> WorkflowOverview:
    """Return the overview of one workflow. Raises NotFound, and InvalidState if the merchant has
    scenarios."""
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    workflows = await load_workflows(work.tx, work.merchant_id)
    overviews = await _build_overviews(
        work, [each for each in workflows if each.workflow_id == workflow_id]
    )
    if not overviews:
        raise NotFound(f"There is no workflow {workflow_id}.")
    return overviews[0]


async def _build_overviews(work: Work, workflows: Sequence[Workflow]) -> list[WorkflowOverview]:
    ids = [each.workflow_id for each in workflows]
    majors = await load_majors(work.tx, work.merchant_id, ids)
    running = await count_running(
        work.tx, work.merchant_id, [*majors], limit=MAX_COUNTED_CLAIMS + 1
    )
    changes = await count_open_changes(work.tx, work.merchant_id)
    current = {(each.workflow_id, each.major) for each in workflows if each.major is not None}
    versions = await load_newest(work.tx, work.merchant_id, current)
    warnings = {
        workflow_id: list_contact_warnings(version.definition)
        for (workflow_id, _), version in versions.items()
    }
    return [
        _build_overview(
            each,
            majors,
            running=running,
            changes=changes.get(each.workflow_id, 0),
            warnings=warnings.get(each.workflow_id, []),
        )
        for each in workflows
    ]


def _build_overview(
    workflow: Workflow, majors: Mapping[tuple[UUID, int], int], running: RunningCounts,
    changes: int,
    warnings: list[Fault],
) -> WorkflowOverview:  # fmt: skip
    is_published = workflow.major is not None and workflow.minor is not None
    return WorkflowOverview(
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
