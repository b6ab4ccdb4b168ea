"""What rules may ask about a claim that is there, as it stands now."""

from datetime import date

from dunwell.assignment.matching import ClaimFacts
from dunwell.claims.balance import PRIMARY, sum_balance
from dunwell.claims.conditions import ConditionFacts
from dunwell.claims.store import load_claim_row, load_items
from dunwell.escalation.reach import has_postal_address
from dunwell.kit.db import Connection


async def load_claim_facts(
    tx: Connection, merchant_id: int, claim_id: int, today: date
) -> ClaimFacts | None:
    """None: there is no such claim. `today` is the day in the merchant's zone."""
    row = await load_claim_row(tx, merchant_id, claim_id)
    if row is None:
        return None
    items = await load_items(tx, merchant_id, claim_id)
    balance = sum_balance(items, 0)
    primary = next((item for item in items if item.type == PRIMARY), None)
    address = row["address"] or {}
    conditions = ConditionFacts(
        outstanding_cents=balance.outstanding_cents,
        total_cents=balance.total_cents,
        today=today,
        first_primary_on=None if primary is None else primary.due_on or primary.item_on,
        item_types=frozenset(item.type for item in items),
        date_of_birth=row["date_of_birth"],
        language=row["language"],
        country=address.get("country"),
        city=address.get("city"),
        postal_code=address.get("postal_code"),
        email=row["email"],
        mobile_number=row["mobile_number"],
        has_address=has_postal_address(address),
        custom_fields=row["custom_fields"] or {},
    )
    return ClaimFacts(claim_id, row["currency"], conditions)
