"""The SQL of search: rows in, values out, no rules."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from dunwell.claims.searching.terms import Searched
from dunwell.kit.db import Connection
from dunwell.kit.epochs import SETTLED_BEFORE
from dunwell.kit.sql import Conditions, compose

# What one page looks at.
BUDGET = 2_000
# Tells whether any claim was created; of all merchants.
_LOAD_LAST_ID = """
SELECT last_value FROM claims_claim_id_seq
"""
# For each merchant one look at claims_list.
_FIND_MERCHANTS = compose(
    """
SELECT m.merchant_id
FROM merchants m
LEFT JOIN claim_search_progress p ON p.merchant_id = m.merchant_id
WHERE EXISTS (
    SELECT FROM claims c
    WHERE c.merchant_id = m.merchant_id
      AND (c.written_by, c.claim_id)
        > (coalesce(p.upto_written_by, '0'), coalesce(p.upto_claim_id, 0))
      AND c.written_by < {settled_before})
LIMIT $1
""",
    settled_before=SETTLED_BEFORE,
)
_BEGIN = """
INSERT INTO claim_search_progress (merchant_id) VALUES ($1)
ON CONFLICT (merchant_id) DO NOTHING
"""
# Whoever changes what a claim is found by shares it: the words are not those of before.
_LOCK = """
SELECT upto_written_by::text AS written_by, upto_claim_id AS claim_id
FROM claim_search_progress
WHERE merchant_id = $1
FOR UPDATE
"""
_SHARE = """
SELECT FROM claim_search_progress WHERE merchant_id = $1 FOR SHARE
"""
_COLUMNS = ", ".join(
    f"{'c' if each.name in ('claim_id', 'reference_number') else 'd'}.{each.name}"
    for each in fields(Searched)
)
# Rides on claims_list.
_LOAD_NEXT = compose(
    """
SELECT {columns}, c.written_by::text AS written_by
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
WHERE c.merchant_id = $1 AND (c.written_by, c.claim_id) > ($2::text::xid8, $3)
  AND c.written_by < {settled_before}
ORDER BY c.written_by, c.claim_id
LIMIT $4
""",
    columns=_COLUMNS,
    settled_before=SETTLED_BEFORE,
)
# By primary key.
_LOAD_ONE = compose(
    """
SELECT {columns}
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
WHERE c.merchant_id = $1 AND c.claim_id = $2
""",
    columns=_COLUMNS,
)
_INSERT = """
INSERT INTO claim_search (merchant_id, claim_id, term)
SELECT $1, claim_id, term
FROM unnest($2::bigint[], $3::text[]) AS words (claim_id, term)
ON CONFLICT (merchant_id, claim_id, term) DO NOTHING
"""
_SAVE_PROGRESS = """
UPDATE claim_search_progress
SET upto_written_by = $2::text::xid8, upto_claim_id = $3
WHERE merchant_id = $1
"""
_FORGET = """
DELETE FROM claim_search
WHERE merchant_id = $1 AND claim_id = $2
"""
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


async def load_last_id(tx: Connection) -> int:
    """Of all claims there have ever been, of any merchant."""
    last: int = await tx.fetchval(_LOAD_LAST_ID)
    return last


async def find_merchants(tx: Connection, limit: int) -> Sequence[int]:
    """Those with claims that have no words yet."""
    return [row["merchant_id"] for row in await tx.fetch(_FIND_MERCHANTS, limit)]


async def lock_progress(tx: Connection, merchant_id: int) -> tuple[str, int]:
    """Where to go on: behind this transaction's claim."""
    await tx.execute(_BEGIN, merchant_id)
    row = await tx.fetchrow(_LOCK, merchant_id)
    assert row is not None
    return row["written_by"], row["claim_id"]


async def load_next(
    tx: Connection, merchant_id: int, behind: tuple[str, int], limit: int
) -> Sequence[tuple[str, Searched]]:
    """Each with its writing transaction."""
    rows = await tx.fetch(_LOAD_NEXT, merchant_id, *behind, limit)
    found = []
    for row in rows:
        values = dict(row)
        found.append((values.pop("written_by"), Searched(**values)))
    return found


async def save_terms(tx: Connection, merchant_id: int, terms: Iterable[tuple[int, str]]) -> None:
    """Each a claim's."""
    listed = [*terms]
    await tx.execute(
        _INSERT, merchant_id, [each for each, _ in listed], [each for _, each in listed]
    )


async def save_progress(tx: Connection, merchant_id: int, upto: tuple[str, int]) -> None:
    await tx.execute(_SAVE_PROGRESS, merchant_id, *upto)


async def load_for_change(tx: Connection, merchant_id: int, claim_id: int) -> Searched | None:
    """The claim, locked, with its words taken away. While this transaction lasts nobody writes
    those of before."""
    await tx.execute(_BEGIN, merchant_id)
    await tx.execute(_SHARE, merchant_id)
    await tx.execute(_FORGET, merchant_id, claim_id)
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, claim_id)
    return None if row is None else Searched(**dict(row))


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
