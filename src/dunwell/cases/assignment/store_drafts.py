"""The SQL of drafts of assignment rules: the draft, who changed what in it, and published versions.
Rows in, values out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from dunwell.cases.assignment.differences import ChangeKind
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.store import Author
from dunwell.platform.database.database import Connection, Row

_LOAD_DRAFT = """
SELECT document, saved_at, first_revision, revision
FROM assignment_rule_drafts
WHERE merchant_id = $1
"""

# The caller holds the merchant's row, so revisions have no gaps and no races.
_SAVE_DRAFT = """
WITH made AS (
    INSERT INTO assignment_rule_changes
        (merchant_id, revision, actor_kind, actor_id, made_at, changes)
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

# By primary key.
_LOAD_CHANGES = """
SELECT revision, actor_kind, actor_id, made_at, changes
FROM assignment_rule_changes
WHERE merchant_id = $1 AND revision BETWEEN $2 AND $3
ORDER BY revision
"""

# By primary key, backwards; the documents are looked at one by one.
_LOAD_VERSIONS = """
SELECT version, published_at, actor_kind, actor_id, comment,
    jsonb_array_length(coalesce(document->'rules', '[]')) AS rules
FROM assignment_rules
WHERE merchant_id = $1 AND version <= $2
ORDER BY version DESC
LIMIT $3
"""
_LAST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RulesDraft:
    """Revisions count each saving of any draft of the merchant's: those of this one, from the
    first."""

    rules: RuleSet
    saved_at: datetime
    first_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class DraftChange:
    """What somebody changed when a draft was saved: kinds, with the rule's name where there is
    one."""

    revision: int
    actor_kind: str
    actor_id: str | None
    made_at: datetime
    changes: tuple[tuple[ChangeKind, str | None], ...]

    @property
    def author(self) -> str:
        """The same for all changes of one author."""
        return f"{self.actor_kind}:{self.actor_id or ''}"


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """A published version without its rules. The publisher of an early one is not known."""

    version: int
    published_at: datetime
    actor_kind: str | None
    actor_id: str | None
    comment: str | None
    rules: int


async def load_rules_draft(tx: Connection, merchant_id: int) -> RulesDraft | None:
    row = await tx.fetchrow(_LOAD_DRAFT, merchant_id)
    if row is None:
        return None
    rules = msgspec.convert(row["document"], RuleSet)
    return RulesDraft(rules, row["saved_at"], row["first_revision"], row["revision"])


async def save_draft(
    tx: Connection, merchant_id: int, rules: RuleSet, *, author: Author, now: datetime,
    changes: Sequence[tuple[ChangeKind, str | None]],
) -> int:  # fmt: skip
    """Store the merchant's one draft of rules in place of any before; answers its revision."""
    listed: list[dict[str, Any]] = [{"kind": kind, "name": name} for kind, name in changes]
    revision: int = await tx.fetchval(
        _SAVE_DRAFT, merchant_id, msgspec.to_builtins(rules), now, *author, listed
    )  # fmt: skip
    return revision


async def delete_draft(tx: Connection, merchant_id: int) -> bool:
    """False: there was none."""
    return await tx.fetchval(_DELETE_DRAFT, merchant_id) is not None


async def load_changes(
    tx: Connection, merchant_id: int, draft: RulesDraft
) -> tuple[DraftChange, ...]:
    """Those of a draft, the oldest first."""
    rows = await tx.fetch(_LOAD_CHANGES, merchant_id, draft.first_revision, draft.revision)
    return tuple(_read_change(row) for row in rows)


async def load_versions(
    tx: Connection, merchant_id: int, *, up_to: int | None, limit: int
) -> list[PublishedVersion]:
    """The newest first; `up_to`: those to this one."""
    rows = await tx.fetch(_LOAD_VERSIONS, merchant_id, up_to or _LAST, limit)
    return [PublishedVersion(**row) for row in rows]


def _read_change(row: Row) -> DraftChange:
    changes = tuple((ChangeKind(each["kind"]), each["name"]) for each in row["changes"])
    return DraftChange(
        row["revision"],
        row["actor_kind"],
        actor_id=row["actor_id"],
        made_at=row["made_at"],
        changes=changes,
    )
