"""The SQL of the search: the queue of claims to index, their terms, and finding claims."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from dunwell.core.claims.searching.terms import SearchableClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import Conditions, compose

# The next two statements read the whole queue, which has only the transactions that created claims
# in the last second.
_HAS_QUEUED = """
SELECT EXISTS (SELECT FROM claim_search_queue)
"""
# Takes the oldest row of each merchant before the second of any, so that a large import delays no
# other merchant. Skips rows that another worker has locked.
_DELETE_QUEUED = """
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
# A subselect of one row, which the planner never turns into a join over the whole table. Uses the
# primary key of claim_search.
_HAS_NO_TERMS = """(
    SELECT true
    FROM claim_search s
    WHERE s.merchant_id = c.merchant_id AND s.claim_id = c.claim_id
    LIMIT 1) IS NULL"""
_COLUMNS = ", ".join(
    f"{'c' if each.name in ('claim_id', 'reference_number') else 'd'}.{each.name}"
    for each in fields(SearchableClaim)
)
# Because of the shared lock, a change of the debtor waits until the terms are committed, and then
# replaces them. Debtors that are being changed are skipped. Uses claims_list, then primary keys.
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
# Uses claims_list.
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
# Uses the primary key.
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
    """The claims that one transaction created for a merchant. `written_by` is the id of the
    transaction."""

    merchant_id: int
    written_by: str


async def has_queued_claims(tx: Connection) -> bool:
    """Return whether any merchant has claims in the queue."""
    found: bool = await tx.fetchval(_HAS_QUEUED)
    return found


async def dequeue_claims(tx: Connection, limit: int) -> Sequence[QueuedClaims]:
    """Delete at most `limit` rows from the queue and return them."""
    rows = await tx.fetch(_DELETE_QUEUED, limit)
    return list(dict.fromkeys(QueuedClaims(**row) for row in rows))


async def load_claims_without_terms(
    tx: Connection, queued: Sequence[QueuedClaims], limit: int
) -> Sequence[tuple[int, SearchableClaim]]:
    """Return at most `limit` claims of each transaction with their merchant ids, without claims
    whose debtors another transaction is changing."""
    claims = []
    for row in await tx.fetch(_LOAD, *_as_arrays(queued), limit):
        values = dict(row)
        claims.append((values.pop("merchant_id"), SearchableClaim(**values)))
    return claims


async def save_terms(tx: Connection, terms: Iterable[tuple[int, int, str]]) -> None:
    """Insert the terms. Each entry is merchant id, claim id and term."""
    listed = [*terms]
    columns = ([each[column] for each in listed] for column in range(3))
    await tx.execute(_INSERT, *columns)


async def requeue_unfinished(tx: Connection, queued: Sequence[QueuedClaims]) -> None:
    """Put back the transactions that still have claims without terms."""
    await tx.execute(_QUEUE_REST, *_as_arrays(queued))


async def delete_terms(tx: Connection, merchant_id: int, claim_id: int) -> SearchableClaim | None:
    """Delete the claim's terms and return its current data, or None if there is no claim."""
    await tx.execute(_REMOVE_TERMS, merchant_id, claim_id)
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, claim_id)
    return None if row is None else SearchableClaim(**row)


def _as_arrays(queued: Sequence[QueuedClaims]) -> tuple[list[int], list[str]]:
    return [each.merchant_id for each in queued], [each.written_by for each in queued]


# The largest number of rows that one page reads.
BUDGET = 2_000
# Uses claim_search_terms. A claim with several matching words is listed at the first of them.
# Further words use the primary key, claim by claim: LIMIT 1 keeps the planner from making a join.
_FIND = """
SELECT l.term, l.claim_id
FROM (
    SELECT s.term, s.claim_id, -s.claim_id AS newest
    FROM claim_search s
    WHERE s.merchant_id = $1 AND s.term >= $2 AND s.term < $3
    {after}
    ORDER BY s.term, newest
    LIMIT {budget}
) l
WHERE (
    SELECT true
    FROM claim_search o
    WHERE o.merchant_id = $1 AND o.claim_id = l.claim_id AND o.term >= $2 AND o.term < l.term
    LIMIT 1) IS NULL
{words}
ORDER BY l.term, l.newest
LIMIT $4
"""
_FIND_END = """
SELECT s.term, s.claim_id
FROM claim_search s
WHERE s.merchant_id = $1 AND s.term >= $2 AND s.term < $3
{after}
ORDER BY s.term, -s.claim_id
OFFSET $4
LIMIT 1
"""
_AFTER = "(s.term, -s.claim_id) > ({}, {}::bigint)"
_AND = """(
    SELECT true
    FROM claim_search w
    WHERE w.merchant_id = $1 AND w.claim_id = l.claim_id AND w.term >= {} AND w.term < {}
    LIMIT 1)"""
# Uses claim_search_terms, up to BUDGET rows for each word.
_COUNT_WORDS = """
SELECT given.word, (
    SELECT count(*)
    FROM (
        SELECT
        FROM claim_search s
        WHERE s.merchant_id = $1 AND s.term >= given.word AND s.term < given.word || $3
        LIMIT {budget}) counted) AS number
FROM unnest($2::text[]) WITH ORDINALITY AS given (word, place)
ORDER BY number, given.place
"""
# Appended to a word, it gives a text after every term that begins with the word.
_HIGHEST = "\U0010ffff"

# A matching term, and the claim's id.
FoundTerm = tuple[str, int]


async def list_matches(
    tx: Connection, merchant_id: int, words: Sequence[str], *, limit: int, after: FoundTerm | None
) -> tuple[Sequence[FoundTerm], FoundTerm | None]:
    """Return at most `limit` matches that follow `after`, and the position after which the next
    page continues, or None if there are no more matches."""
    first, *further = await _sort_rarest_first(tx, merchant_id, words, after)
    conditions = Conditions(merchant_id, first, first + _HIGHEST, limit + 1)
    if after is not None:
        conditions.add(_AFTER, after[0], -after[1])
    after_sql = conditions.render()
    all_conditions = Conditions(*conditions.values)
    for word in further:
        all_conditions.add(_AND, word, word + _HIGHEST)
    statement = compose(_FIND, after=after_sql, words=all_conditions.render(), budget=str(BUDGET))
    matches = [
        (row["term"], row["claim_id"]) for row in await tx.fetch(statement, *all_conditions.values)
    ]
    if len(matches) > limit:
        return matches[:limit], matches[limit - 1]
    end = compose(_FIND_END, after=after_sql)
    values = [*conditions.values[:3], BUDGET - 1, *conditions.values[4:]]
    last = await tx.fetchrow(end, *values)
    return matches, None if last is None else (last["term"], last["claim_id"])


async def _sort_rarest_first(
    tx: Connection, merchant_id: int, words: Sequence[str], after: FoundTerm | None
) -> Sequence[str]:
    """Return the words with the rarest first. On a later page, the first word is the one of the
    cursor's position."""
    if len(words) == 1:
        return words
    if after is not None:
        return sorted(words, key=lambda each: not after[0].startswith(each))
    counted = compose(_COUNT_WORDS, budget=str(BUDGET))
    rows = await tx.fetch(counted, merchant_id, list(words), _HIGHEST)
    return [row["word"] for row in rows]
