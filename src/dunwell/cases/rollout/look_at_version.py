"""One version of a workflow for whoever looks back: what it says, who changed what in it, and what
differs between any two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.read_workflows import choose_version
from dunwell.core.workflows.change_workflow import check_switched
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.drafts.store import load_open_changes, load_published_changes
from dunwell.core.workflows.versions.differences import PartDifference, compare_parts
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.core.workflows.versions.store import VersionRow, load_definition, load_versions
from dunwell.core.workflows.versions.versions import Verdict, find_verdict
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class LookedAtVersion:
    """changes: what was published with it, oldest first; of the draft, what is in it."""

    row: VersionRow
    definition: Definition
    parts: Mapping[str, Any]
    changes: list[DraftChange]


@dataclass(frozen=True, slots=True)
class TwoVersions:
    verdict: Verdict
    differences: list[PartDifference]


async def list_versions(work: Work, workflow_id: UUID) -> list[VersionRow]:
    """Oldest first, the draft last. Raises InvalidState: the merchant has scenarios."""
    work.need(Right.READ_CLAIMS)
    check_switched(work.merchant)
    return await load_versions(work.tx, work.merchant_id, workflow_id)


async def look_at_version(work: Work, workflow_id: UUID, name: str) -> LookedAtVersion:
    """name: v1.2, draft or latest. Raises NotFound, and what `list_versions` raises."""
    work.need(Right.READ_CLAIMS)
    row = choose_version(await list_versions(work, workflow_id), name)
    tx, merchant_id = work.tx, work.merchant_id
    definition = await load_definition(tx, merchant_id, workflow_id, row.version_id)
    if definition is None:
        raise NotFound(f"{name} was discarded just now. List the versions again.")
    if row.state == "DRAFT":
        changes = await load_open_changes(tx, merchant_id, workflow_id)
    else:
        changes = await load_published_changes(tx, merchant_id, row.version_id)
    return LookedAtVersion(row, definition, list_parts(definition), changes)


def compare_two(before: LookedAtVersion, after: LookedAtVersion) -> TwoVersions:
    return TwoVersions(
        find_verdict(before.definition, after.definition), compare_parts(before.parts, after.parts)
    )
