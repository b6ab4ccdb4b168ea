"""The SQL of workflows, their current versions and drafts."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import Version, WorkflowDraft
from dunwell.platform.database.database import Connection, Row, savepoint

# Runs for every batch of the engine, which nests it. One lookup per pair, backwards in the key
# workflow_versions (merchant_id, workflow_id, major, minor).
LOAD_NEWEST = """
SELECT newest.version_id, newest.workflow_id, newest.major, newest.minor,
    CASE WHEN newest.version_id = wanted.known_id THEN NULL ELSE newest.definition END AS definition
FROM UNNEST($2::uuid[], $3::integer[], $4::uuid[]) AS wanted (workflow_id, major, known_id)
CROSS JOIN LATERAL (
    SELECT *
    FROM workflow_versions
    WHERE merchant_id = $1
        AND workflow_id = wanted.workflow_id
        AND major = wanted.major
        AND state <> 'DRAFT'
    ORDER BY minor DESC
    LIMIT 1
) AS newest
"""

# Uses the same key.
_LOAD_CURRENT = """
SELECT version_id, workflow_id, major, minor,
    CASE WHEN version_id = $3 THEN NULL ELSE definition END AS definition
FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = $2 AND state <> 'DRAFT'
ORDER BY major DESC, minor DESC
LIMIT 1
"""

_LOAD_WORKFLOWS = """
SELECT workflow.workflow_id, workflow.name, workflow.assignment_enabled, workflow.created_at,
    newest.version_id, newest.major, newest.minor,
    draft.version_id AS draft_id
FROM workflows AS workflow
LEFT JOIN LATERAL (
    SELECT version_id, major, minor
    FROM workflow_versions
    WHERE merchant_id = workflow.merchant_id
        AND workflow_id = workflow.workflow_id
        AND state <> 'DRAFT'
    ORDER BY major DESC, minor DESC
    LIMIT 1
) AS newest ON true
LEFT JOIN workflow_versions AS draft
    ON draft.merchant_id = workflow.merchant_id
    AND draft.workflow_id = workflow.workflow_id
    AND draft.state = 'DRAFT'
WHERE workflow.merchant_id = $1 AND workflow.deleted_at IS NULL
ORDER BY workflow.created_at, workflow.workflow_id
"""

_LOAD_WORKFLOW = """
SELECT workflow_id, name, assignment_enabled
FROM workflows
WHERE merchant_id = $1 AND workflow_id = $2 AND deleted_at IS NULL
"""

# Locks workflows that a claim or a rule will reference: a deletion waits, and deleted workflows get
# no references. Locked in the order of ids, like every lock of several rows. Uses the primary key.
_LOCK_FOR_REFERENCE = """
SELECT workflow_id, name, assignment_enabled
FROM workflows
WHERE merchant_id = $1 AND workflow_id = ANY($2::uuid[]) AND deleted_at IS NULL
ORDER BY workflow_id
FOR KEY SHARE
"""

_LOAD_DRAFT = """
SELECT version_id, definition
FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = $2 AND state = 'DRAFT'
"""

# Locking the workflow's row serialises all changes of its versions.
_LOCK_WORKFLOW = """
SELECT workflow_id
FROM workflows
WHERE merchant_id = $1 AND workflow_id = $2 AND deleted_at IS NULL
FOR NO KEY UPDATE
"""

_LOCK_OR_INSERT_WORKFLOW = """
INSERT INTO workflows (merchant_id, workflow_id, name, created_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (merchant_id, name) WHERE deleted_at IS NULL DO UPDATE
SET name = EXCLUDED.name
RETURNING workflow_id
"""

# A changed draft gets a new version id, so that no id names two contents.
_SAVE_DRAFT = """
INSERT INTO workflow_versions
    (merchant_id, version_id, workflow_id, state, definition, created_at)
VALUES ($1, $2, $3, 'DRAFT', $4, $5)
ON CONFLICT (merchant_id, workflow_id) WHERE state = 'DRAFT' DO UPDATE
SET version_id = EXCLUDED.version_id,
    definition = EXCLUDED.definition,
    created_at = EXCLUDED.created_at
"""

_PUBLISH = """
UPDATE workflow_versions
SET state = 'PUBLISHED', major = $3, minor = $4, published_at = $5, comment = $6
WHERE merchant_id = $1 AND version_id = $2
"""

_DELETE_DRAFT = """
DELETE FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = $2 AND state = 'DRAFT'
RETURNING version_id
"""

_MAX_CACHED = 2_000
# The newest version that this process has loaded, by (merchant id, workflow id, major). With major
# 0 it is the newest of all majors.
_Key = tuple[int, UUID, int]
_cached: dict[_Key, Version] = {}


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow without its definitions. The version fields are None if it has only a draft."""

    workflow_id: UUID
    name: str
    assignment_enabled: bool
    created_at: datetime
    version_id: UUID | None
    major: int | None
    minor: int | None
    draft_id: UUID | None


async def load_newest(
    tx: Connection, merchant_id: int, pairs: Collection[tuple[UUID, int]]
) -> dict[tuple[UUID, int], Version]:
    """Return the newest minor version of each (workflow, major), without drafts. Unknown pairs are
    left out."""
    known = {pair: _cached.get((merchant_id, *pair)) for pair in pairs}
    rows = await tx.fetch(
        LOAD_NEWEST, merchant_id, [workflow_id for workflow_id, _ in known],
        [major for _, major in known], [each and each.version_id for each in known.values()],
    )  # fmt: skip
    pairs_found = [(row["workflow_id"], row["major"]) for row in rows]
    return {
        pair: build_newest_version(row, merchant_id, known[pair])
        for pair, row in zip(pairs_found, rows, strict=True)
    }


def find_cached_version(merchant_id: int, pair: tuple[UUID, int]) -> Version | None:
    """Return the version that this process loaded last for (workflow, major), or None. There may be
    a newer one."""
    return _cached.get((merchant_id, *pair))


def build_newest_version(row: Row, merchant_id: int, known: Version | None) -> Version:
    """Build the version from a row of `LOAD_NEWEST`, which was queried with the id of `known`."""
    return _build_version(row, (merchant_id, row["workflow_id"], row["major"]), known)


async def load_current(tx: Connection, merchant_id: int, workflow_id: UUID) -> Version | None:
    """Return the newest version that is not a draft, which new assignments use, or None if there is
    only a draft. For a scenario this is its single version."""
    key = (merchant_id, workflow_id, 0)
    known = _cached.get(key)
    row = await tx.fetchrow(_LOAD_CURRENT, merchant_id, workflow_id, known and known.version_id)
    return None if row is None else _build_version(row, key, known)


async def load_workflows(tx: Connection, merchant_id: int) -> list[Workflow]:
    """Return all workflows of a merchant in order of creation, including unpublished ones, without
    deleted ones."""
    return [Workflow(**row) for row in await tx.fetch(_LOAD_WORKFLOWS, merchant_id)]


async def load_assignability(
    tx: Connection, merchant_id: int, workflow_id: UUID
) -> tuple[str, bool] | None:
    """Return a workflow's name and whether claims may be assigned to it. Return None if there is no
    such workflow."""
    row = await tx.fetchrow(_LOAD_WORKFLOW, merchant_id, workflow_id)
    return None if row is None else (row["name"], row["assignment_enabled"])


async def lock_workflows_for_reference(
    tx: Connection, merchant_id: int, workflow_ids: Collection[UUID]
) -> dict[UUID, tuple[str, bool]]:
    """Return name and assignability of existing workflows, and protect them from deletion until the
    transaction ends. Workflows are locked before claims."""
    rows = await tx.fetch(_LOCK_FOR_REFERENCE, merchant_id, list(workflow_ids))
    return {row["workflow_id"]: (row["name"], row["assignment_enabled"]) for row in rows}


async def load_draft(tx: Connection, merchant_id: int, workflow_id: UUID) -> WorkflowDraft | None:
    row = await tx.fetchrow(_LOAD_DRAFT, merchant_id, workflow_id)
    if row is None:
        return None
    return WorkflowDraft(row["version_id"], msgspec.convert(row["definition"], Definition))


async def lock_workflow(tx: Connection, merchant_id: int, workflow_id: UUID) -> bool:
    """Lock a workflow until the transaction ends. Return False if there is none."""
    return await tx.fetchval(_LOCK_WORKFLOW, merchant_id, workflow_id) is not None


async def save_workflow(
    tx: Connection, merchant_id: int, workflow_id: UUID, name: str, now: datetime
) -> UUID:
    """Insert a workflow with this name, or lock the existing one, and return its id."""
    saved: UUID = await tx.fetchval(_LOCK_OR_INSERT_WORKFLOW, merchant_id, workflow_id, name, now)
    return saved


async def save_draft_row(
    tx: Connection, merchant_id: int, workflow_id: UUID, draft: WorkflowDraft, now: datetime
) -> None:
    """Save the workflow's only draft, replacing an earlier one."""
    document: Any = msgspec.to_builtins(draft.definition)
    await tx.execute(_SAVE_DRAFT, merchant_id, draft.version_id, workflow_id, document, now)


async def save_publication(
    tx: Connection, merchant_id: int, version: Version, now: datetime, comment: str | None
) -> None:
    """Turn the draft with the version's id into this published version."""
    await tx.execute(
        _PUBLISH, merchant_id, version.version_id, version.major, version.minor, now, comment
    )


async def delete_draft(tx: Connection, merchant_id: int, workflow_id: UUID) -> bool:
    """Delete the draft. Return False if there is none."""
    return await tx.fetchval(_DELETE_DRAFT, merchant_id, workflow_id) is not None


def _build_version(row: Row, key: _Key, known: Version | None) -> Version:
    """Build the version of a row. The definition is null if `known` is this version."""
    if row["definition"] is None:
        assert known is not None
        return known
    definition = msgspec.convert(row["definition"], Definition)
    version = Version(
        workflow_id=row["workflow_id"],
        version_id=row["version_id"],
        major=row["major"],
        minor=row["minor"],
        definition=definition,
    )
    if len(_cached) >= _MAX_CACHED:
        _cached.pop(next(iter(_cached)))
    _cached[key] = version
    return version


_RENAME = """
UPDATE workflows
SET name = $3
WHERE merchant_id = $1 AND workflow_id = $2
"""

_LOAD_NAME = "SELECT name FROM workflows WHERE merchant_id = $1 AND workflow_id = $2"

_SET_ASSIGNMENT = """
UPDATE workflows
SET assignment_enabled = $3
WHERE merchant_id = $1 AND workflow_id = $2 AND assignment_enabled <> $3
RETURNING workflow_id
"""

# A stronger lock than for editing: it waits for claims that are being assigned to the workflow,
# whose foreign keys lock it too.
_LOCK_FOR_DELETION = """
SELECT workflow_id
FROM workflows
WHERE merchant_id = $1 AND workflow_id = $2 AND deleted_at IS NULL
FOR UPDATE
"""

_MARK_DELETED = """
UPDATE workflows
SET deleted_at = $3
WHERE merchant_id = $1 AND workflow_id = $2
"""

# Deletes the draft too (ON DELETE CASCADE). A trigger protects published versions.
_REMOVE = "DELETE FROM workflows WHERE merchant_id = $1 AND workflow_id = $2"


async def load_workflow_name(tx: Connection, merchant_id: int, workflow_id: UUID) -> str:
    """Return the name of an existing workflow."""
    name: str = await tx.fetchval(_LOAD_NAME, merchant_id, workflow_id)
    return name


async def save_workflow_name(
    tx: Connection, merchant_id: int, workflow_id: UUID, name: str
) -> bool:
    """Rename the workflow. Return False if the name is taken."""
    try:
        async with savepoint(tx):
            await tx.execute(_RENAME, merchant_id, workflow_id, name)
    except asyncpg.UniqueViolationError:
        return False
    return True


async def save_assignment_enabled(
    tx: Connection, merchant_id: int, workflow_id: UUID, *, is_enabled: bool
) -> bool:
    """Allow or stop new assignments to the workflow. Return False if nothing changed."""
    changed = await tx.fetchval(_SET_ASSIGNMENT, merchant_id, workflow_id, is_enabled)
    return changed is not None


async def lock_for_deletion(tx: Connection, merchant_id: int, workflow_id: UUID) -> bool:
    """Lock a workflow against new claims and rules until the transaction ends. Return False if
    there is none."""
    return await tx.fetchval(_LOCK_FOR_DELETION, merchant_id, workflow_id) is not None


async def mark_deleted(tx: Connection, merchant_id: int, workflow_id: UUID, now: datetime) -> None:
    """Mark the workflow as deleted. Its versions stay for the history; its name can be
    used again.
    """
    await tx.execute(_MARK_DELETED, merchant_id, workflow_id, now)


async def delete_workflow_row(tx: Connection, merchant_id: int, workflow_id: UUID) -> None:
    """Delete a workflow that was never published, with its draft."""
    await tx.execute(_REMOVE, merchant_id, workflow_id)
