"""The SQL of rollout: what points at workflows, and how many claims run on them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.store import load_published_rules, load_rules_draft
from dunwell.platform.database.database import Connection

# Reads the merchant's claims once: seldom, and by an operator.
_COUNT_ACTIVE = """
SELECT workflow_id, workflow_major, COUNT(*) AS claims
FROM claims
WHERE merchant_id = $1
    AND workflow_id IS NOT NULL
    AND ($2::uuid IS NULL OR workflow_id = $2)
    AND status IN ('CREATED', 'IN_PROCESS')
GROUP BY workflow_id, workflow_major
ORDER BY workflow_id, workflow_major
"""

# One look into claims_running for each; ends where enough are counted.
_COUNT_RUNNING = """
SELECT wanted.workflow_id, wanted.major, counted.claims
FROM UNNEST($2::uuid[], $3::integer[]) AS wanted (workflow_id, major)
CROSS JOIN LATERAL (
    SELECT COUNT(*) AS claims
    FROM (
        SELECT
        FROM claims
        WHERE merchant_id = $1
            AND workflow_id = wanted.workflow_id
            AND workflow_major = wanted.major
            AND status IN ('CREATED', 'IN_PROCESS')
        LIMIT $4
    ) AS found
) AS counted
"""

# (workflow, major) -> claims in process.
Running = Mapping[tuple[UUID, int], int]


async def count_running(
    tx: Connection, merchant_id: int, majors: Sequence[tuple[UUID, int]], *, limit: int
) -> Running:
    """Of each of these, up to the limit."""
    rows = await tx.fetch(
        _COUNT_RUNNING, merchant_id, [workflow_id for workflow_id, _ in majors],
        [major for _, major in majors], limit,
    )  # fmt: skip
    return {(row["workflow_id"], row["major"]): row["claims"] for row in rows}


async def count_active_claims(
    tx: Connection, merchant_id: int, workflow_id: UUID | None = None
) -> dict[UUID, dict[int, int]]:
    """Claims in process by workflow and major; of one workflow when it is named."""
    found: dict[UUID, dict[int, int]] = {}
    for row in await tx.fetch(_COUNT_ACTIVE, merchant_id, workflow_id):
        found.setdefault(row["workflow_id"], {})[row["workflow_major"]] = row["claims"]
    return found


async def load_rule_sets(tx: Connection, merchant_id: int) -> Mapping[str, RuleSet]:
    """The published assignment rules and their draft, by state, as far as there are any."""
    published = await load_published_rules(tx, merchant_id)
    draft = await load_rules_draft(tx, merchant_id)
    found = {"published": published, "draft": draft}
    return {state: each.rules for state, each in found.items() if each is not None}
