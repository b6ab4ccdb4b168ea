"""The SQL of searching claims: the queue of claims that are not searchable yet, their terms, and
finding claims by them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from dunwell.core.claims.searching.terms import Searched
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import Conditions, compose

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


async def remove_queued(tx: Connection, limit: int) -> Sequence[QueuedClaims]:
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


# What one page looks at.
BUDGET = 2_000
# Rides on claim_search_terms; a claim that several of its words find stands at the first of them.
# Further words by primary key, claim by claim: what is limited to one row the server makes no join
# of, whatever it takes the words to be.
_FIND = """
SELECT l.term, l.claim_id
FROM (
    SELECT s.term, s.claim_id, -s.claim_id AS newest
    FROM claim_search s
    WHERE s.merchant_id = $1 AND s.term >= $2 AND s.term < $3
    {behind}
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
{behind}
ORDER BY s.term, -s.claim_id
OFFSET $4
LIMIT 1
"""
_BEHIND = "(s.term, -s.claim_id) > ({}, {}::bigint)"
_AND = """(
    SELECT true
    FROM claim_search w
    WHERE w.merchant_id = $1 AND w.claim_id = l.claim_id AND w.term >= {} AND w.term < {}
    LIMIT 1)"""
# Rides on claim_search_terms, as far as a page's budget.
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
# Behind all words that begin with another.
_HIGHEST = "\U0010ffff"

# The word it was found by, and the claim.
Found = tuple[str, int]


async def find(
    tx: Connection, merchant_id: int, words: Sequence[str], *, limit: int, behind: Found | None
) -> tuple[Sequence[Found], Found | None]:
    """At most `limit`; and the last place that was looked at, where there is more behind it."""
    first, *further = await _lead_by_rarest(tx, merchant_id, words, behind)
    conditions = Conditions(merchant_id, first, first + _HIGHEST, limit + 1)
    if behind is not None:
        conditions.add(_BEHIND, behind[0], -behind[1])
    place = conditions.render()
    both = Conditions(*conditions.values)
    for word in further:
        both.add(_AND, word, word + _HIGHEST)
    statement = compose(_FIND, behind=place, words=both.render(), budget=str(BUDGET))
    found = [(row["term"], row["claim_id"]) for row in await tx.fetch(statement, *both.values)]
    if len(found) > limit:
        return found[:limit], found[limit - 1]
    end = compose(_FIND_END, behind=place)
    values = [*conditions.values[:3], BUDGET - 1, *conditions.values[4:]]
    last = await tx.fetchrow(end, *values)
    return found, None if last is None else (last["term"], last["claim_id"])


async def _lead_by_rarest(
    tx: Connection, merchant_id: int, words: Sequence[str], behind: Found | None
) -> Sequence[str]:
    """The word that fewest claims have comes first; of a page that goes on, the one that its place
    is a place of."""
    if len(words) == 1:
        return words
    if behind is not None:
        return sorted(words, key=lambda each: not behind[0].startswith(each))
    counted = compose(_COUNT_WORDS, budget=str(BUDGET))
    rows = await tx.fetch(counted, merchant_id, list(words), _HIGHEST)
    return [row["word"] for row in rows]
