"""The SQL that finds the direct debits which transactions of statements name."""

from collections.abc import Collection

from dunwell.platform.database.database import Connection

# Uses debit_collections_end_to_end, and mandates_claim.
_FIND_CLAIMS = """
SELECT end_to_end_id AS named, claim_id
FROM debit_collections
WHERE merchant_id = $1 AND end_to_end_id = ANY($2::text[])
UNION
SELECT reference, claim_id
FROM mandates
WHERE merchant_id = $1 AND claim_id = ANY($3::bigint[]) AND reference = ANY($2::text[])
"""
# Uses bank_transactions_end_to_end, and bank_matches_transaction.
_LIST_RECORDED = """
SELECT DISTINCT t.end_to_end_id, t.amount_cents < 0 AS is_return
FROM bank_transactions t
JOIN bank_matches m ON m.merchant_id = $1 AND m.entry_id = t.entry_id AND m.number = t.number
WHERE t.merchant_id = $1 AND t.end_to_end_id = ANY($2::text[])
  AND m.rule IN ('MANDATE', 'RETURN') AND m.kind = 'MATCHED'
"""


async def find_debit_claims(
    tx: Connection, merchant_id: int, named: Collection[str], claim_ids: Collection[int]
) -> dict[str, int]:
    """Return the claim of each of these end-to-end ids and mandate references. `claim_ids` are the
    claims with whose ids the references begin."""
    rows = await tx.fetch(_FIND_CLAIMS, merchant_id, sorted(named), sorted(claim_ids))
    return {row["named"]: row["claim_id"] for row in rows}


async def list_recorded_debits(
    tx: Connection, merchant_id: int, end_to_end_ids: Collection[str]
) -> set[tuple[str, bool]]:
    """Return for which debits a credit (False) or a return (True) was found on a statement."""
    rows = await tx.fetch(_LIST_RECORDED, merchant_id, sorted(end_to_end_ids))
    return {(row["end_to_end_id"], row["is_return"]) for row in rows}
