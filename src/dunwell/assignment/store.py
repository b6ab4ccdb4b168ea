"""The SQL of assignment: rules, and the claims they are applied to. Rows in, values out."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from dunwell.assignment.decision import AssignableClaim
from dunwell.assignment.rules import RuleSet
from dunwell.kit.db import Connection
from dunwell.workflows.versions import Version

_LOAD_RULES = """
SELECT document
FROM assignment_rules
WHERE merchant_id = $1
ORDER BY version DESC
LIMIT 1
"""

# The caller holds the merchant's row, so versions have no gaps and no races.
_SAVE_RULES = """
INSERT INTO assignment_rules (merchant_id, version, document, published_at)
SELECT $1, COALESCE(MAX(version), 0) + 1, $2, $3
FROM assignment_rules
WHERE merchant_id = $1
RETURNING version
"""

# Locks in the order of ids, as everything does that locks several claims. Rides on the primary
# keys of claims and items.
_LOCK_CLAIMS = """
SELECT claim_id, status, currency, workflow_id,
    (
        SELECT due_date
        FROM items
        WHERE items.merchant_id = claims.merchant_id
            AND items.claim_id = claims.claim_id
            AND type = 'PRIMARY'
        ORDER BY position
        LIMIT 1
    ) AS first_primary_due_on
FROM claims
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY claim_id
FOR NO KEY UPDATE OF claims
"""

_START_RUNS = """
UPDATE claims
SET workflow_id = $4,
    workflow_major = $5,
    run = run + 1,
    next_step_id = $6,
    due_at = started.due_at,
    updated_at = $7
FROM UNNEST($2::bigint[], $3::timestamptz[]) AS started (claim_id, due_at)
WHERE claims.merchant_id = $1 AND claims.claim_id = started.claim_id
"""


# Ids are bigint; what does not fit is nobody's.
_FIRST_IMPOSSIBLE_ID = 2**63


async def load_rules(tx: Connection, merchant_id: int) -> RuleSet:
    document = await tx.fetchval(_LOAD_RULES, merchant_id)
    return RuleSet() if document is None else msgspec.convert(document, RuleSet)


async def save_rules(tx: Connection, merchant_id: int, rules: RuleSet, now: datetime) -> int:
    """Store the rules as the newest version; answers its number."""
    version: int = await tx.fetchval(_SAVE_RULES, merchant_id, msgspec.to_builtins(rules), now)
    return version


async def lock_claims(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, AssignableClaim]:
    """The claims there are among these, locked until the transaction ends."""
    possible = [claim_id for claim_id in claim_ids if 0 < claim_id < _FIRST_IMPOSSIBLE_ID]
    rows = await tx.fetch(_LOCK_CLAIMS, merchant_id, possible)
    return {row["claim_id"]: AssignableClaim(**row) for row in rows}


async def save_new_runs(
    tx: Connection, merchant_id: int, version: Version, starts: Sequence[tuple[int, datetime]],
    now: datetime,
) -> None:  # fmt: skip
    """Put claims, which the caller has locked, before the first step of `version`."""
    await tx.execute(
        _START_RUNS, merchant_id,
        [claim_id for claim_id, _ in starts], [due_at for _, due_at in starts],
        version.workflow_id, version.major, version.definition.steps[0].id, now,
    )  # fmt: skip
