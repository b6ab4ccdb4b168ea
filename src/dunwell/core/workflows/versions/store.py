"""The SQL of a workflow's versions, as users see them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import KnownStep, render_version_name
from dunwell.platform.database.database import Connection

# Uses workflow_versions (merchant_id, workflow_id, major, minor). The draft comes last.
_LOAD_VERSIONS = """
SELECT version_id, state, major, minor, created_at, published_at, comment
FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = $2
ORDER BY major, minor
"""

_LOAD_DEFINITION = """
SELECT definition
FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = $2 AND version_id = $3
"""

# Uses the same key.
_LOAD_MAJORS = """
SELECT workflow_id, major, MAX(minor) AS minor
FROM workflow_versions
WHERE merchant_id = $1 AND workflow_id = ANY($2::uuid[]) AND state <> 'DRAFT'
GROUP BY workflow_id, major
"""

# Each step id that was ever published, with kind and name from the newest version that has it.
# Steps that were removed from the workflow's scenario come last, with version 0.
_LOAD_KNOWN_STEPS = """
WITH placed AS (
    SELECT step, version.major, version.minor
    FROM workflow_versions AS version
    CROSS JOIN LATERAL jsonb_array_elements(version.definition -> 'steps') AS step
    WHERE version.merchant_id = $1 AND version.workflow_id = $2 AND version.state = 'PUBLISHED'
    UNION ALL
    SELECT step, 0, 0
    FROM scenarios AS scenario
    CROSS JOIN LATERAL jsonb_array_elements(scenario.retired_steps) AS step
    WHERE scenario.merchant_id = $1 AND scenario.workflow_id = $2
)
SELECT DISTINCT ON (step_id) (step ->> 'id')::integer AS step_id,
    step ->> 'kind' AS kind, step ->> 'name' AS name, major, minor
FROM placed
ORDER BY step_id, major DESC, minor DESC
"""

# The current definitions of all merchants without the texts, in pages. Uses the primary key of
# workflows, and workflow_versions (merchant_id, workflow_id, major, minor) backwards.
_LIST_CURRENT = """
SELECT workflow.merchant_id, workflow.workflow_id, merchant.key AS merchant, workflow.name,
    newest.definition -> 'settings' AS settings, newest.definition -> 'steps' AS steps
FROM workflows AS workflow
JOIN merchants AS merchant USING (merchant_id)
CROSS JOIN LATERAL (
    SELECT definition
    FROM workflow_versions
    WHERE merchant_id = workflow.merchant_id
        AND workflow_id = workflow.workflow_id
        AND state <> 'DRAFT'
    ORDER BY major DESC, minor DESC
    LIMIT 1
) AS newest
WHERE (workflow.merchant_id, workflow.workflow_id) > ($1, $2) AND workflow.deleted_at IS NULL
ORDER BY workflow.merchant_id, workflow.workflow_id
LIMIT $3
"""
_PAGE_SIZE = 200


@dataclass(frozen=True, slots=True)
class CurrentDefinition:
    """The newest version of a workflow or scenario. Its definition has no texts."""

    # The merchant's key.
    merchant: str
    name: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version without its definition. A draft has no numbers and no publication date."""

    version_id: UUID
    state: str
    major: int | None
    minor: int | None
    # For a draft: when it was last saved.
    created_at: datetime
    published_at: datetime | None
    comment: str | None

    @property
    def name(self) -> str:
        if self.major is None or self.minor is None:
            return "draft"
        return render_version_name(self.major, self.minor)


async def load_versions(tx: Connection, merchant_id: int, workflow_id: UUID) -> list[VersionRow]:
    """Return all versions of a workflow, oldest first, its draft last."""
    rows = await tx.fetch(_LOAD_VERSIONS, merchant_id, workflow_id)
    return [VersionRow(**row) for row in rows]


async def iterate_current_definitions(tx: Connection) -> AsyncIterator[list[CurrentDefinition]]:
    """Yield the newest versions of all workflows of all merchants, in pages. Workflows that have
    only a draft are left out."""
    last: tuple[int, UUID] = (0, UUID(int=0))
    while rows := await tx.fetch(_LIST_CURRENT, *last, _PAGE_SIZE):
        last = (rows[-1]["merchant_id"], rows[-1]["workflow_id"])
        yield [
            CurrentDefinition(
                row["merchant"],
                row["name"],
                msgspec.convert({"settings": row["settings"], "steps": row["steps"]}, Definition),
            )
            for row in rows
        ]


async def load_majors(
    tx: Connection, merchant_id: int, workflow_ids: Sequence[UUID]
) -> dict[tuple[UUID, int], int]:
    """Return the newest minor of each (workflow, major)."""
    rows = await tx.fetch(_LOAD_MAJORS, merchant_id, list(workflow_ids))
    return {(row["workflow_id"], row["major"]): row["minor"] for row in rows}


async def load_definition(
    tx: Connection, merchant_id: int, workflow_id: UUID, version_id: UUID
) -> Definition | None:
    document = await tx.fetchval(_LOAD_DEFINITION, merchant_id, workflow_id, version_id)
    return None if document is None else msgspec.convert(document, Definition)


async def load_known_steps(
    tx: Connection, merchant_id: int, workflow_id: UUID
) -> dict[int, KnownStep]:
    """Return the step that each step id has belonged to, in the workflow's published versions or in
    its scenario."""
    rows = await tx.fetch(_LOAD_KNOWN_STEPS, merchant_id, workflow_id)
    return {
        row["step_id"]: KnownStep(
            row["kind"], row["name"], _describe_version(row["major"], row["minor"])
        )
        for row in rows
    }


def _describe_version(major: int, minor: int) -> str:
    return render_version_name(major, minor) if major else "removed from the scenario"
