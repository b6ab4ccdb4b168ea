"""The SQL of assignment: rules, their drafts and versions, and the claims that they are applied
to.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.cases.assignment.decision import AssignableClaim
from dunwell.cases.assignment.matching import MatchedClaim
from dunwell.cases.assignment.rules import ChangeKind, RuleSet
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.database.database import Connection, Row

_FIND_PUBLISHED = """
SELECT version, document, published_at, actor_kind, actor_id, comment
FROM assignment_rules
WHERE merchant_id = $1
ORDER BY version DESC
LIMIT 1
"""

# Uses the primary key.
_FIND_VERSION = """
SELECT version, document, published_at, actor_kind, actor_id, comment
FROM assignment_rules
WHERE merchant_id = $1 AND version = $2
"""

# The caller has locked the merchant's row, so version numbers have no gaps.
_INSERT_VERSION = """
INSERT INTO assignment_rules
    (merchant_id, version, document, published_at, actor_kind, actor_id, comment)
SELECT $1, COALESCE(MAX(version), 0) + 1, $2, $3, $4, $5, $6
FROM assignment_rules
WHERE merchant_id = $1
RETURNING version
"""

# Each workflow with its newest published major. Uses the primary key of workflows and, backwards,
# the key workflow_versions (merchant_id, workflow_id, major, minor).
_LOAD_TARGETS = """
SELECT workflow.workflow_id, workflow.name, workflow.assignment_enabled,
    workflow.deleted_at IS NOT NULL AS is_deleted, newest.major
FROM workflows AS workflow
LEFT JOIN LATERAL (
    SELECT major
    FROM workflow_versions
    WHERE merchant_id = workflow.merchant_id
        AND workflow_id = workflow.workflow_id
        AND state <> 'DRAFT'
    ORDER BY major DESC
    LIMIT 1
) AS newest ON true
WHERE workflow.merchant_id = $1
    AND ($2::uuid[] IS NULL OR workflow.workflow_id = ANY($2::uuid[]))
ORDER BY workflow.created_at, workflow.workflow_id
"""

# Locks in the order of ids, like each statement that locks several claims. Uses the primary keys of
# claims and items.
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
    updated_at = $7,
    rules_version = $8
FROM UNNEST($2::bigint[], $3::timestamptz[]) AS started (claim_id, due_at)
WHERE claims.merchant_id = $1 AND claims.claim_id = started.claim_id
"""


# The kind and the id of an actor.
Author: TypeAlias = tuple[str, str | None]

# Ids are of the type bigint, so no claim has a larger one.
_FIRST_IMPOSSIBLE_ID = 2**63


@dataclass(frozen=True, slots=True)
class PublishedRules:
    """A published version of a merchant's rules. Versions count from 1."""

    version: int
    rules: RuleSet
    published_at: datetime
    # The publisher; None for versions that were published before it was recorded.
    actor_kind: str | None
    actor_id: str | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A workflow that rules can refer to. `major` is None if it was never published."""

    workflow_id: UUID
    name: str
    assignment_enabled: bool
    is_deleted: bool
    major: int | None


async def find_published_rules(tx: Connection, merchant_id: int) -> PublishedRules | None:
    """Return the newest version, or None if no rules were published."""
    row = await tx.fetchrow(_FIND_PUBLISHED, merchant_id)
    return None if row is None else _build_published(row)


def _build_published(row: Row) -> PublishedRules:
    return PublishedRules(
        version=row["version"],
        rules=_build_rules(row),
        published_at=row["published_at"],
        actor_kind=row["actor_kind"],
        actor_id=row["actor_id"],
        comment=row["comment"],
    )


async def load_rules(tx: Connection, merchant_id: int) -> RuleSet:
    """Return the published rules, or an empty set if there are none."""
    published = await find_published_rules(tx, merchant_id)
    return RuleSet() if published is None else published.rules


async def find_rules_version(
    tx: Connection, merchant_id: int, version: int
) -> PublishedRules | None:
    """Return one version. Published rules never change and are never deleted."""
    row = await tx.fetchrow(_FIND_VERSION, merchant_id, version)
    return None if row is None else _build_published(row)


async def insert_rules_version(
    tx: Connection, merchant_id: int, rules: RuleSet, *, author: Author, now: datetime,
    comment: str | None,
) -> int:  # fmt: skip
    """Store the rules as the newest version and return its number."""
    version: int = await tx.fetchval(
        _INSERT_VERSION, merchant_id, msgspec.to_builtins(rules), now, *author, comment
    )  # fmt: skip
    return version


async def load_targets(
    tx: Connection, merchant_id: int, workflow_ids: Collection[UUID] | None = None
) -> dict[UUID, TargetRow]:
    """Return these workflows, including deleted ones, or all of the merchant's if no ids are
    given.
    """
    wanted = None if workflow_ids is None else list(workflow_ids)
    rows = await tx.fetch(_LOAD_TARGETS, merchant_id, wanted)
    return {row["workflow_id"]: TargetRow(**row) for row in rows}


async def lock_claims(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, AssignableClaim]:
    """Lock and return those of the claims that exist."""
    possible = [claim_id for claim_id in claim_ids if 0 < claim_id < _FIRST_IMPOSSIBLE_ID]
    rows = await tx.fetch(_LOCK_CLAIMS, merchant_id, possible)
    return {row["claim_id"]: AssignableClaim(**row) for row in rows}


async def save_started_runs(
    tx: Connection, merchant_id: int, version: Version, starts: Sequence[tuple[int, datetime]],
    now: datetime, *, rules_version: int | None,
) -> None:  # fmt: skip
    """Start a run of locked claims before the first step of `version`."""
    await tx.execute(
        _START_RUNS, merchant_id,
        [claim_id for claim_id, _ in starts], [due_at for _, due_at in starts],
        version.workflow_id, version.major, version.definition.steps[0].id, now, rules_version,
    )  # fmt: skip


def _build_rules(row: Row) -> RuleSet:
    return msgspec.convert(row["document"], RuleSet)


_FIND_DRAFT = """
SELECT document, saved_at, first_revision, revision
FROM assignment_rule_drafts
WHERE merchant_id = $1
"""

# The caller has locked the merchant's row, so revisions have no gaps.
_SAVE_DRAFT = """
WITH made AS (
    INSERT INTO assignment_rule_changes
        (merchant_id, revision, actor_kind, actor_id, created_at, changes)
    SELECT $1, coalesce(max(revision), 0) + 1, $4, $5, $3, $6
    FROM assignment_rule_changes
    WHERE merchant_id = $1
    RETURNING revision
)
INSERT INTO assignment_rule_drafts (merchant_id, document, saved_at, first_revision, revision)
SELECT $1, $2, $3, revision, revision
FROM made
ON CONFLICT (merchant_id) DO UPDATE
SET document = EXCLUDED.document,
    saved_at = EXCLUDED.saved_at,
    revision = EXCLUDED.revision
RETURNING revision
"""

_DELETE_DRAFT = """
DELETE FROM assignment_rule_drafts
WHERE merchant_id = $1
RETURNING merchant_id
"""

# Uses the primary key.
_LIST_CHANGES = """
SELECT revision, actor_kind, actor_id, created_at, changes
FROM assignment_rule_changes
WHERE merchant_id = $1 AND revision BETWEEN $2 AND $3
ORDER BY revision
"""

# Uses the primary key backwards. The documents are read one by one.
_LIST_VERSIONS = """
SELECT version, published_at, actor_kind, actor_id, comment,
    jsonb_array_length(coalesce(document->'rules', '[]')) AS rules
FROM assignment_rules
WHERE merchant_id = $1 AND version <= $2
ORDER BY version DESC
LIMIT $3
"""
_MAX_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RulesDraft:
    """A draft of the rules. Revisions count each saving of any draft of the merchant, so this draft
    has those from `first_revision` to `revision`."""

    rules: RuleSet
    saved_at: datetime
    first_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class RulesDraftChange:
    """What a user changed when saving a draft: the kinds of change, and the rule's name if there is
    one."""

    revision: int
    actor_kind: str
    actor_id: str | None
    created_at: datetime
    changes: tuple[tuple[ChangeKind, str | None], ...]

    @property
    def author(self) -> str:
        """Identifies the author; the same for all of an author's changes."""
        return f"{self.actor_kind}:{self.actor_id or ''}"


@dataclass(frozen=True, slots=True)
class RulesVersionSummary:
    """A published version without its rules. `actor_kind` is None for versions that were published
    before the publisher was recorded; `rules` is the number of rules."""

    version: int
    published_at: datetime
    actor_kind: str | None
    actor_id: str | None
    comment: str | None
    rules: int


async def find_rules_draft(tx: Connection, merchant_id: int) -> RulesDraft | None:
    row = await tx.fetchrow(_FIND_DRAFT, merchant_id)
    if row is None:
        return None
    return RulesDraft(_build_rules(row), row["saved_at"], row["first_revision"], row["revision"])


async def save_draft(
    tx: Connection, merchant_id: int, rules: RuleSet, *, author: Author, now: datetime,
    changes: Sequence[tuple[ChangeKind, str | None]],
) -> int:  # fmt: skip
    """Save the merchant's only draft of the rules, replacing an earlier one. Return its
    revision.
    """
    listed: list[dict[str, Any]] = [{"kind": kind, "name": name} for kind, name in changes]
    revision: int = await tx.fetchval(
        _SAVE_DRAFT, merchant_id, msgspec.to_builtins(rules), now, *author, listed
    )  # fmt: skip
    return revision


async def delete_draft(tx: Connection, merchant_id: int) -> bool:
    """Delete the draft. Return False if there was none."""
    return await tx.fetchval(_DELETE_DRAFT, merchant_id) is not None


async def list_draft_changes(
    tx: Connection, merchant_id: int, draft: RulesDraft
) -> tuple[RulesDraftChange, ...]:
    """Return the changes of the draft, oldest first."""
    rows = await tx.fetch(_LIST_CHANGES, merchant_id, draft.first_revision, draft.revision)
    return tuple(_build_change(row) for row in rows)


async def list_published_versions(
    tx: Connection, merchant_id: int, *, up_to: int | None, limit: int
) -> list[RulesVersionSummary]:
    """Return the versions, newest first. With `up_to`, start at that version."""
    rows = await tx.fetch(_LIST_VERSIONS, merchant_id, up_to or _MAX_VERSION, limit)
    return [RulesVersionSummary(**row) for row in rows]


def _build_change(row: Row) -> RulesDraftChange:
    changes = tuple((ChangeKind(each["kind"]), each["name"]) for each in row["changes"])
    return RulesDraftChange(
        row["revision"],
        row["actor_kind"],
        actor_id=row["actor_id"],
        created_at=row["created_at"],
        changes=changes,
    )


# Uses the primary keys of claims (backwards), debtors and items. Ids increase with time, so the
# newest claims have the highest ids. Fees that the workflow added later are left out.
_LOAD_PAST_CLAIMS = """
WITH page AS MATERIALIZED (
    SELECT claim_id, reference_number, currency, created_at
    FROM claims
    WHERE merchant_id = $1 AND claim_id <= $2
    ORDER BY claim_id DESC
    LIMIT $3
)
SELECT page.claim_id, page.reference_number, page.currency, page.created_at,
    d.date_of_birth, d.language, d.email, d.mobile_number, d.custom_fields,
    d.address->>'country' AS country, d.address->>'city' AS city,
    d.address->>'postal_code' AS postal_code,
    coalesce(d.address->>'street', '') <> '' AND coalesce(d.address->>'city', '') <> ''
        AS has_address,
    i.total_cents, i.types, i.first_primary_on
FROM page
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = page.claim_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(value_cents), 0)::bigint AS total_cents,
        array_agg(DISTINCT type) AS types,
        (array_agg(coalesce(due_date, item_date) ORDER BY position)
            FILTER (WHERE type = 'PRIMARY'))[1] AS first_primary_on
    FROM items
    WHERE merchant_id = $1 AND claim_id = page.claim_id AND run IS NULL) i
ORDER BY page.claim_id DESC
"""
FROM_THE_NEWEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PastClaim:
    """A claim with the amounts that it had when it was created and the present data of its
    debtor."""

    facts: MatchedClaim
    reference_number: str


@dataclass(frozen=True, slots=True)
class PastClaimPage:
    """`next_id` is the highest id of the next page, or None if no later page has claims in the
    period."""

    claims: Sequence[PastClaim]
    next_id: int | None


async def list_past_claims(
    tx: Connection, merchant_id: int, zone: ZoneInfo, *, since: datetime, from_id: int, limit: int
) -> PastClaimPage:
    """Return claims created since `since`, from `from_id` downwards.

    A page without such a claim ends the search: an id is reserved moments before the claim is
    created, never days before.
    """
    rows = await tx.fetch(_LOAD_PAST_CLAIMS, merchant_id, from_id, limit)
    recent = [_build_past_claim(row, zone) for row in rows if row["created_at"] >= since]
    is_last = len(rows) < limit or not recent
    return PastClaimPage(recent, None if is_last else rows[-1]["claim_id"] - 1)


def _build_past_claim(row: Row, zone: ZoneInfo) -> PastClaim:
    conditions = ConditionFacts(
        outstanding_cents=row["total_cents"],
        total_cents=row["total_cents"],
        today=row["created_at"].astimezone(zone).date(),
        first_primary_on=row["first_primary_on"],
        item_types=frozenset(row["types"] or ()),
        date_of_birth=row["date_of_birth"],
        language=row["language"],
        country=row["country"],
        city=row["city"],
        postal_code=row["postal_code"],
        email=row["email"],
        mobile_number=row["mobile_number"],
        has_address=row["has_address"],
        custom_fields=row["custom_fields"] or {},
    )
    facts = MatchedClaim(row["claim_id"], row["currency"], conditions)
    return PastClaim(facts, row["reference_number"])
