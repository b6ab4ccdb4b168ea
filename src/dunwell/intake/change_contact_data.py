"""Changes whom a claim is about and how the debtor is contacted, in every state of the claim.

Whatever is rendered for the claim and has not been handed over is rendered anew.
"""

from typing import Any

import msgspec

from dunwell.claims.store import lock_claim
from dunwell.errors import NotFound
from dunwell.intake.contact_patch import apply_patch
from dunwell.intake.rows import make_address_row
from dunwell.intake.submission import AddressSubmission, ContactData
from dunwell.kit.db import Row
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit

# By primary key.
_LOAD = """
SELECT first_name, last_name, company_name, email, mobile_number, language, date_of_birth, address,
       customer_number, contract_number, custom_fields
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""
_SAVE = """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
UPDATE debtors d
SET first_name = n.first_name, last_name = n.last_name, company_name = n.company_name,
    email = n.email, mobile_number = n.mobile_number, language = n.language,
    date_of_birth = n.date_of_birth, address = n.address, customer_number = n.customer_number,
    contract_number = n.contract_number, custom_fields = n.custom_fields
FROM json_to_record($4::json) AS n (
    first_name text, last_name text, company_name text, email text, mobile_number text,
    language text, date_of_birth date, address jsonb, customer_number text, contract_number text,
    custom_fields jsonb)
WHERE d.merchant_id = $1 AND d.claim_id = $2
"""

_FIELDS = ContactData.__struct_fields__
# The columns of other names.
_COLUMNS = {"debtor_name": "first_name", "debtor_last_name": "last_name"}


async def change_contact_data(work: Work, claim_id: int, patch: object) -> None:
    """`patch`: parsed JSON. Raises NotFound and ValidationError. A patch that says what is there
    changes nothing."""
    if await lock_claim(work.tx, work.merchant_id, claim_id) is None:
        raise NotFound(f"There is no claim {claim_id}.")
    row = await work.tx.fetchrow(_LOAD, work.merchant_id, claim_id)
    assert row is not None
    present = _read(row)
    changed = apply_patch(present, patch)
    names = [
        each.encode_name
        for each in msgspec.structs.fields(ContactData)
        if getattr(present, each.name) != getattr(changed, each.name)
    ]
    if not names:
        return
    await work.tx.execute(_SAVE, work.merchant_id, claim_id, work.now, _make_row(changed))
    await save_audit(work, "claim.change", f"claim:{claim_id}", fields=names)


def _make_row(changed: ContactData) -> dict[str, Any]:
    row = {_COLUMNS.get(name, name): getattr(changed, name) for name in _FIELDS}
    if changed.address is not None:
        row["address"] = make_address_row(changed.address)
    return row


def _read(row: Row) -> ContactData:
    values: dict[str, Any] = {name: row[_COLUMNS.get(name, name)] for name in _FIELDS}
    if row["address"] is not None:
        values["address"] = AddressSubmission(**row["address"])
    return ContactData(**values)
