"""The SQL of the accounts from which claims were paid, for suggestions."""

from collections.abc import Sequence
from datetime import datetime

from dunwell.platform.database.database import Connection

# Uses the primary key of payer_accounts.
_FIND_BY_PAYER = """
SELECT payer_digest, claim_id
FROM payer_accounts
WHERE merchant_id = $1 AND payer_digest = ANY($2::bytea[])
ORDER BY seen_at DESC
LIMIT $3
"""
_SAVE_PAYERS = """
INSERT INTO payer_accounts (merchant_id, payer_digest, claim_id, seen_at)
SELECT DISTINCT $1::integer AS merchant_id, payer_digest, claim_id, $2::timestamptz
FROM unnest($3::bytea[], $4::bigint[]) AS p (payer_digest, claim_id)
ON CONFLICT (merchant_id, payer_digest, claim_id) DO UPDATE SET seen_at = excluded.seen_at
"""
# The account of a payer is forgotten when the last payment from it was undone. Uses the primary
# key, then bank_matches_claim.
_DELETE_PAYER = """
DELETE FROM payer_accounts p
WHERE p.merchant_id = $1 AND p.payer_digest = $2 AND p.claim_id = $3
  AND NOT EXISTS (
    SELECT FROM bank_matches m
    JOIN bank_transactions t
        ON t.merchant_id = $1 AND t.entry_id = m.entry_id AND t.number = m.number
    WHERE m.merchant_id = $1 AND m.claim_id = $3 AND m.kind = 'MATCHED'
      AND t.counterparty_digest = $2
      AND NOT EXISTS (
        SELECT FROM bank_matches u WHERE u.merchant_id = $1 AND u.undoes = m.match_id))
"""
_PAYER_LIMIT = 2_000


async def find_claims_by_payer(
    tx: Connection, merchant_id: int, digests: Sequence[bytes]
) -> dict[bytes, list[int]]:
    """Return the claims that were paid from each account, the last one first."""
    found: dict[bytes, list[int]] = {}
    for row in await tx.fetch(_FIND_BY_PAYER, merchant_id, list(digests), _PAYER_LIMIT):
        found.setdefault(row["payer_digest"], []).append(row["claim_id"])
    return found


async def save_payers(
    tx: Connection, merchant_id: int, seen: Sequence[tuple[bytes, int]], now: datetime
) -> None:
    """Save the accounts (as digests) from which claims were paid."""
    if seen:
        digests, claim_ids = [each for each, _ in seen], [each for _, each in seen]
        await tx.execute(_SAVE_PAYERS, merchant_id, now, digests, claim_ids)


async def delete_payer(tx: Connection, merchant_id: int, payer: tuple[bytes, int]) -> None:
    """Forget that a claim was paid from an account, unless another payment came from it. `payer`
    has the digest of the account and the claim."""
    await tx.execute(_DELETE_PAYER, merchant_id, *payer)
