"""The SQL of a claim's life: rows in, values out, no rules."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.kit.db import Connection
from dunwell.kit.sql import load_statement

_LOAD = load_statement(__file__, "life.sql")
# What nothing else tells of.
_TELLING = (
    "claim.change", "claim.assign", "claim.archive", "claim.withdraw", "item.add", "item.delete",
    "attachment.add", "attachment.delete", "attachment.replace", "contact.settle",
)  # fmt: skip
# Rides on audit_log_list_of_subject.
_LOAD_ACTORS = """
SELECT action, actor_kind, actor_id,
       coalesce(details ->> 'paymentId', details ->> 'disputeId', details ->> 'modalityId') AS about
FROM audit_log
WHERE merchant_id = $1 AND subject = 'claim:' || $2::bigint AND action <> 'claims.create'
  AND action = ANY($3::text[])
ORDER BY audit_id
"""
_NAMING = (
    "payment.record", "payment.reverse", "dispute.resolve", "dispute.withdraw", "modality.approve",
    "modality.reject", "modality.withdraw",
)  # fmt: skip
# By primary key; people are the installation's.
_LOAD_NAMES = "SELECT user_id::text AS user_id, name FROM users WHERE user_id = ANY($1::uuid[])"


@dataclass(frozen=True, slots=True)
class Doer:
    kind: str
    actor_id: str | None


@dataclass(frozen=True, slots=True)
class LifeRow:
    kind: str
    at: datetime
    subject_id: UUID | None
    word: str | None
    more: str | None
    text: str | None
    cents: int | None
    until: datetime | None
    doer: Doer | None


async def load_life(tx: Connection, merchant_id: int, claim_id: int, limit: int) -> list[LifeRow]:
    rows = await tx.fetch(_LOAD, merchant_id, claim_id, list(_TELLING), limit)
    return [
        LifeRow(
            kind=row["kind"],
            at=row["at"],
            subject_id=row["subject_id"],
            word=row["word"],
            more=row["more"],
            text=row["text"],
            cents=row["cents"],
            until=row["until"],
            doer=Doer(row["actor_kind"], row["actor_id"]) if row["actor_kind"] else None,
        )
        for row in rows
    ]


async def load_actors(
    tx: Connection, merchant_id: int, claim_id: int
) -> Mapping[tuple[str, str], Doer]:
    """By action and the id of what it was done to."""
    rows = await tx.fetch(_LOAD_ACTORS, merchant_id, claim_id, list(_NAMING))
    return {
        (row["action"], row["about"] or ""): Doer(row["actor_kind"], row["actor_id"])
        for row in rows
    }


async def load_user_names(tx: Connection, user_ids: Collection[str]) -> Mapping[str, str]:
    if not user_ids:
        return {}
    known = [each for each in user_ids if _is_uuid(each)]
    return {row["user_id"]: row["name"] for row in await tx.fetch(_LOAD_NAMES, known)}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
