"""The SQL of finding claims by their terms: rows in, values out, no rules."""

from collections.abc import Sequence

from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import Conditions, compose

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
