"""What rules may ask about a claim that is there, as it stands now."""

from datetime import date

from dunwell.cases.assignment.matching import ClaimFacts
from dunwell.core.claims.balance import PRIMARY, sum_balance
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.claims.fields import AddressSubmission
from dunwell.core.claims.store import load_claim, load_items
from dunwell.platform.database.database import Connection


async def load_claim_facts(
    tx: Connection, merchant_id: int, claim_id: int, today: date
) -> ClaimFacts | None:
    """None: there is no such claim. `today` is the day in the merchant's zone."""
    claim = await load_claim(tx, merchant_id, claim_id)
    if claim is None:
        return None
    items = await load_items(tx, merchant_id, claim_id)
    balance = sum_balance(items, 0)
    primary = next((item for item in items if item.type == PRIMARY), None)
    debtor = claim.debtor
    address = debtor.address or AddressSubmission()
    conditions = ConditionFacts(
        outstanding_cents=balance.outstanding_cents,
        total_cents=balance.total_cents,
        today=today,
        first_primary_on=None if primary is None else primary.due_on or primary.item_on,
        item_types=frozenset(item.type for item in items),
        date_of_birth=debtor.date_of_birth,
        language=debtor.language,
        country=address.country,
        city=address.city,
        postal_code=address.postal_code,
        email=debtor.email,
        mobile_number=debtor.mobile_number,
        has_address=debtor.has_address,
        custom_fields=debtor.custom_fields or {},
    )
    return ClaimFacts(claim_id, claim.currency, conditions)
