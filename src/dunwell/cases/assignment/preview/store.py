"""The SQL of claims as they were when they were created, the newest first, in pages. Nothing is
locked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from dunwell.cases.assignment.matching import MatchedClaim
from dunwell.cases.assignment.preview.effect import PastClaim
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.platform.database.database import Connection, Row

# Rides on the primary keys of claims (backwards), debtors and items. Ids count with time, so the
# newest claims have the highest. Fees of the process came later and are left out.
_LOAD = """
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
class PastPage:
    """`next_id`: the highest id of the page that follows; none: there is nothing more that is as
    young."""

    claims: Sequence[PastClaim]
    next_id: int | None


async def load_past_claims(
    tx: Connection, merchant_id: int, zone: ZoneInfo, *, since: datetime, from_id: int, limit: int
) -> PastPage:
    """Claims that were created since then, from this id on downwards. A page ends the search when
    nothing on it is as young: ids are drawn a moment before claims are created, not days."""
    rows = await tx.fetch(_LOAD, merchant_id, from_id, limit)
    young = [_read(row, zone) for row in rows if row["created_at"] >= since]
    is_last = len(rows) < limit or not young
    return PastPage(young, None if is_last else rows[-1]["claim_id"] - 1)


def _read(row: Row, zone: ZoneInfo) -> PastClaim:
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
