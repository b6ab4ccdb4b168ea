"""The SQL of whom a merchant's last claims are about: rows in, values out, no rules."""

from collections.abc import Sequence
from typing import Any

import msgspec

from dunwell.core.claims.fields import DebtorName
from dunwell.platform.database.database import Connection

# Backwards over the primary key of claims, then by that of debtors and of items.
_LOAD = """
SELECT newest.claim_id, newest.reference_number, newest.currency,
    d.salutation, d.first_name, d.last_name, d.company_name, d.mobile_number, d.language,
    d.customer_number, d.contract_number,
    (SELECT coalesce(sum(i.value_cents), 0)::bigint
     FROM items i
     WHERE i.merchant_id = $1 AND i.claim_id = newest.claim_id) AS total_cents
FROM (
    SELECT claim_id, reference_number, currency
    FROM claims
    WHERE merchant_id = $1
    ORDER BY claim_id DESC
    LIMIT $2
) AS newest
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = newest.claim_id
ORDER BY newest.claim_id DESC
"""


class NamedClaim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    claim_id: int
    reference_number: str
    currency: str
    debtor: DebtorName
    mobile_number: str | None
    language: str | None
    customer_number: str | None
    contract_number: str | None
    total_cents: int


async def load_named_claims(tx: Connection, merchant_id: int, limit: int) -> Sequence[NamedClaim]:
    """The newest first."""
    return [_read(dict(row)) for row in await tx.fetch(_LOAD, merchant_id, limit)]


def _read(values: dict[str, Any]) -> NamedClaim:
    names = {name: values.pop(name) for name in DebtorName.__struct_fields__}
    return NamedClaim(debtor=DebtorName(**names), **values)
