"""The SQL that makes claims searchable: the queue of new claims, and their terms. Rows in, values
out, no rules.

Every claim has at least one term (its id), so a claim without terms is one that is not searchable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from dunwell.core.claims.searching.terms import Searched
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# These two read the queue whole: it holds what the last second created.
_HAS_QUEUED = """
SELECT EXISTS (SELECT FROM claim_search_queue)
"""
# The oldest row of each merchant comes before the second of any, so that one that imports many
# claims delays no other. What another worker has taken is left to it.
_TAKE = """
DELETE FROM claim_search_queue
WHERE ctid = ANY (ARRAY(
    SELECT q.ctid
    FROM claim_search_queue q
    WHERE q.ctid = ANY (ARRAY(
        SELECT numbered.ctid
        FROM (
            SELECT ctid, written_by,
                row_number() OVER (PARTITION BY merchant_id ORDER BY written_by) AS place
            FROM claim_search_queue) numbered
        ORDER BY numbered.place, numbered.written_by
        LIMIT $1))
    FOR UPDATE SKIP LOCKED))
RETURNING merchant_id, written_by::text AS written_by
"""
# A sub-select of one row, which the planner never turns into a join over the whole table. By the
# primary key of claim_search.
_HAS_NO_TERMS = """(
    SELECT true
    FROM claim_search s
    WHERE s.merchant_id = c.merchant_id AND s.claim_id = c.claim_id
    LIMIT 1) IS NULL"""
_COLUMNS = ", ".join(
    f"{'c' if each.name in ('claim_id', 'reference_number') else 'd'}.{each.name}"
    for each in fields(Searched)
)
# The shared lock makes a change of the debtor's data wait until the terms are committed, so that it
# replaces them. A debtor that is being changed is passed by, whatever that transaction goes on to
# do. Rides on claims_list, then on primary keys.
_LOAD = compose(
    """
SELECT found.*
FROM unnest($1::integer[], $2::text[]) AS taken (merchant_id, written_by)
CROSS JOIN LATERAL (
    SELECT c.merchant_id, {columns}
    FROM claims c
    JOIN debtors d ON d.merchant_id = c.merchant_id AND d.claim_id = c.claim_id
    WHERE c.merchant_id = taken.merchant_id AND c.written_by = taken.written_by::xid8
      AND {has_no_terms}
    ORDER BY c.claim_id
    LIMIT $3
    FOR SHARE OF d SKIP LOCKED) found
""",
    columns=_COLUMNS,
    has_no_terms=_HAS_NO_TERMS,
)
_INSERT = """
INSERT INTO claim_search (merchant_id, claim_id, term)
SELECT merchant_id, claim_id, term
FROM unnest($1::integer[], $2::bigint[], $3::text[]) AS given (merchant_id, claim_id, term)
ON CONFLICT (merchant_id, claim_id, term) DO NOTHING
"""
# Rides on claims_list.
_QUEUE_REST = compose(
    """
INSERT INTO claim_search_queue (merchant_id, written_by)
SELECT taken.merchant_id, taken.written_by::xid8
FROM unnest($1::integer[], $2::text[]) AS taken (merchant_id, written_by)
WHERE (
    SELECT true
    FROM claims c
    WHERE c.merchant_id = taken.merchant_id AND c.written_by = taken.written_by::xid8
      AND {has_no_terms}
    LIMIT 1)
""",
    has_no_terms=_HAS_NO_TERMS,
)
# By primary key.
_REMOVE_TERMS = """
DELETE FROM claim_search
WHERE merchant_id = $1 AND claim_id = $2
"""
_LOAD_ONE = compose(
    """
SELECT {columns}
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
WHERE c.merchant_id = $1 AND c.claim_id = $2
""",
    columns=_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class QueuedClaims:
    """The claims that one transaction created for a merchant."""

    merchant_id: int
    written_by: str


async def has_queued(tx: Connection) -> bool:
    """Whether any merchant has claims in the queue."""
    found: bool = await tx.fetchval(_HAS_QUEUED)
    return found


async def take_queued(tx: Connection, limit: int) -> Sequence[QueuedClaims]:
    """Remove at most `limit` rows from the queue, and return them."""
    rows = await tx.fetch(_TAKE, limit)
    return list(dict.fromkeys(QueuedClaims(**row) for row in rows))


async def load_without_terms(
    tx: Connection, queued: Sequence[QueuedClaims], limit: int
) -> Sequence[tuple[int, Searched]]:
    """At most `limit` claims of each transaction, with the merchant's id; those that no other
    transaction is changing."""
    found = []
    for row in await tx.fetch(_LOAD, *_as_arrays(queued), limit):
        values = dict(row)
        found.append((values.pop("merchant_id"), Searched(**values)))
    return found


async def save_terms(tx: Connection, terms: Iterable[tuple[int, int, str]]) -> None:
    """Each with its merchant and its claim."""
    listed = [*terms]
    columns = ([each[place] for each in listed] for place in range(3))
    await tx.execute(_INSERT, *columns)


async def queue_rest(tx: Connection, queued: Sequence[QueuedClaims]) -> None:
    """Put back what has claims without terms still."""
    await tx.execute(_QUEUE_REST, *_as_arrays(queued))


async def remove_terms(tx: Connection, merchant_id: int, claim_id: int) -> Searched | None:
    """The claim whose terms were removed, as its data are now."""
    await tx.execute(_REMOVE_TERMS, merchant_id, claim_id)
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, claim_id)
    return None if row is None else Searched(**row)


def _as_arrays(queued: Sequence[QueuedClaims]) -> tuple[list[int], list[str]]:
    return [each.merchant_id for each in queued], [each.written_by for each in queued]
