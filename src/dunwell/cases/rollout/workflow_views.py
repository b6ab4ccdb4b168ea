"""A merchant's workflows and their versions for people and programs: lists, one version, and the
comparison of two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.store import count_active_claims
from dunwell.core.workflows.change_workflow import check_uses_workflows, get_workflow_by_name
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.drafts.store import load_open_changes, load_published_changes
from dunwell.core.workflows.store import Workflow, load_workflows
from dunwell.core.workflows.versions.differences import (
    PartDifference,
    compare_parts,
    compare_texts,
    list_differences,
)
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.core.workflows.versions.store import VersionRow, load_definition, load_versions
from dunwell.core.workflows.versions.versions import (
    VersionVerdict,
    compute_verdict,
    render_version_name,
)
from dunwell.platform.errors import NotFound


class WorkflowView(msgspec.Struct, frozen=True, rename="camel"):
    """A workflow in the list. The version is None if it was never published."""

    id: UUID
    name: str
    assignment_enabled: bool
    created_at: datetime
    version: str | None
    version_id: UUID | None
    draft_id: UUID | None
    # Active claims on any version.
    active_claims: int


class WorkflowVersionView(msgspec.Struct, frozen=True, rename="camel"):
    """A version or the draft. Active claims run on the newest minor version of their major
    version.
    """

    version: str
    version_id: UUID
    state: Literal["DRAFT", "PUBLISHED"]
    created_at: datetime
    published_at: datetime | None
    comment: str | None
    active_claims: int


class DefinitionView(msgspec.Struct, frozen=True, rename="camel"):
    """One version with its definition, and all versions of its workflow, oldest first."""

    workflow_id: UUID
    name: str
    assignment_enabled: bool
    version: str
    version_id: UUID
    definition: dict[str, Any]
    versions: list[WorkflowVersionView]


class VersionComparisonView(msgspec.Struct, frozen=True, rename="camel"):
    """What `after` changes in `before`."""

    before: str
    after: str
    verdict: VersionVerdict
    differences: list[str]
    # Location of a text -> the lines of its difference, which start with -, + or a space.
    text_changes: dict[str, list[str]]


DRAFT, LATEST = "draft", "latest"


async def list_workflows(work: Work) -> list[WorkflowView]:
    """List the workflows by time of creation. Raises InvalidState if the merchant has scenarios."""
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    active = await count_active_claims(work.tx, work.merchant_id)
    return [
        WorkflowView(
            id=each.workflow_id,
            name=each.name,
            assignment_enabled=each.assignment_enabled,
            created_at=each.created_at,
            version=_name_current(each),
            version_id=each.version_id,
            draft_id=each.draft_id,
            active_claims=sum(active.get(each.workflow_id, {}).values()),
        )
        for each in await load_workflows(work.tx, work.merchant_id)
    ]


async def list_workflow_names(work: Work) -> list[tuple[UUID, str]]:
    """Return the id and name of each workflow by time of creation, including the workflows of
    scenarios. No claims are read."""
    work.require(Right.READ_CLAIMS)
    return [
        (each.workflow_id, each.name) for each in await load_workflows(work.tx, work.merchant_id)
    ]


async def get_definition_view(work: Work, name: str, version: str | None = None) -> DefinitionView:
    """Return a version. `version` is v1.2, draft or latest; None means the latest, or the draft if
    nothing was published.

    Raises NotFound, and InvalidState if the merchant has scenarios.
    """
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
    versions = await load_versions(work.tx, work.merchant_id, workflow.workflow_id)
    chosen = choose_version(versions, version)
    active = await count_active_claims(work.tx, work.merchant_id, workflow.workflow_id)
    return DefinitionView(
        workflow_id=workflow.workflow_id,
        name=workflow.name,
        assignment_enabled=workflow.assignment_enabled,
        version=chosen.name,
        version_id=chosen.version_id,
        definition=render_document(await _get_definition(work, workflow, chosen)),
        versions=_build_version_views(versions, active.get(workflow.workflow_id, {})),
    )


async def compare_versions(work: Work, name: str, before: str, after: str) -> VersionComparisonView:
    """Compare two versions of a workflow. Raises what `get_definition_view` raises."""
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
    versions = await load_versions(work.tx, work.merchant_id, workflow.workflow_id)
    old, new = choose_version(versions, before), choose_version(versions, after)
    old_definition, new_definition = (
        await _get_definition(work, workflow, old),
        await _get_definition(work, workflow, new),
    )
    return VersionComparisonView(
        before=old.name,
        after=new.name,
        verdict=compute_verdict(old_definition, new_definition),
        differences=list_differences(old_definition, new_definition),
        text_changes=compare_texts(old_definition, new_definition),
    )


def choose_version(versions: Sequence[VersionRow], name: str | None) -> VersionRow:
    """Return the version of this name: v1.2, draft or latest. None means the latest, or the draft
    if nothing was published. Raises NotFound, which lists the existing names."""
    by_name = {each.name: each for each in versions}
    published = [each for each in versions if each.state == "PUBLISHED"]
    if published:
        by_name[LATEST] = published[-1]
    if name is None:
        name = LATEST if published else DRAFT
    if name not in by_name:
        raise NotFound(f'There is no version "{name}". There are: {", ".join(by_name)}.')
    return by_name[name]


async def _get_definition(work: Work, workflow: Workflow, version: VersionRow) -> Definition:
    definition = await load_definition(
        work.tx, work.merchant_id, workflow.workflow_id, version.version_id
    )
    if definition is None:
        raise NotFound(f'"{workflow.name}" {version.name} was just discarded. List it again.')
    return definition


def _name_current(workflow: Workflow) -> str | None:
    if workflow.major is None or workflow.minor is None:
        return None
    return render_version_name(workflow.major, workflow.minor)


def _build_version_views(
    versions: Sequence[VersionRow], active: Mapping[int, int]
) -> list[WorkflowVersionView]:
    newest = {each.major: each.version_id for each in versions if each.major is not None}
    return [
        WorkflowVersionView(
            version=each.name,
            version_id=each.version_id,
            state="DRAFT" if each.major is None else "PUBLISHED",
            created_at=each.created_at,
            published_at=each.published_at,
            comment=each.comment,
            active_claims=(
                active.get(each.major, 0)
                if each.major is not None and newest[each.major] == each.version_id
                else 0
            ),
        )
        for each in versions
    ]


@dataclass(frozen=True, slots=True)
class VersionDetails:
    """A version. `changes` are those published with it, oldest first, or those in the draft."""

    row: VersionRow
    definition: Definition
    parts: Mapping[str, Any]
    changes: list[DraftChange]


@dataclass(frozen=True, slots=True)
class VersionDifferences:
    verdict: VersionVerdict
    differences: list[PartDifference]


async def list_workflow_versions(work: Work, workflow_id: UUID) -> list[VersionRow]:
    """List the versions, oldest first and the draft last. Raises InvalidState if the merchant has
    scenarios."""
    work.require(Right.READ_CLAIMS)
    check_uses_workflows(work.merchant)
    return await load_versions(work.tx, work.merchant_id, workflow_id)


async def get_version_details(work: Work, workflow_id: UUID, name: str) -> VersionDetails:
    """Return a version. `name` is v1.2, draft or latest. Raises NotFound, and what
    `list_workflow_versions` raises."""
    work.require(Right.READ_CLAIMS)
    row = choose_version(await list_workflow_versions(work, workflow_id), name)
    tx, merchant_id = work.tx, work.merchant_id
    definition = await load_definition(tx, merchant_id, workflow_id, row.version_id)
    if definition is None:
        raise NotFound(f"{name} was just discarded. List the versions again.")
    if row.state == "DRAFT":
        changes = await load_open_changes(tx, merchant_id, workflow_id)
    else:
        changes = await load_published_changes(tx, merchant_id, row.version_id)
    return VersionDetails(row, definition, list_parts(definition), changes)


def compare_version_details(before: VersionDetails, after: VersionDetails) -> VersionDifferences:
    return VersionDifferences(
        compute_verdict(before.definition, after.definition),
        compare_parts(before.parts, after.parts),
    )
