"""Changes whom a claim is about and how the debtor is contacted, in every state of the claim.

Whatever is rendered for the claim and has not been handed over is rendered anew.
"""

from collections.abc import Sequence

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import keep_changed, mask, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.contact_patch import apply_patch
from dunwell.core.claims.debtor_rows import define_record, list_columns, make_row, read_row
from dunwell.core.claims.fields import ContactData
from dunwell.core.claims.searching.search_claims import replace_terms
from dunwell.core.claims.store import lock_claim
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, NotFound

_COLUMNS = list_columns(ContactData)
# By primary key.
_LOAD = compose(
    "SELECT {columns} FROM debtors WHERE merchant_id = $1 AND claim_id = $2", columns=_COLUMNS
)
_SAVE = compose(
    """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
UPDATE debtors
SET ({columns}) = (
    SELECT {columns}
    FROM json_to_record($4::json) AS n ({record}))
WHERE merchant_id = $1 AND claim_id = $2
""",
    columns=_COLUMNS,
    record=define_record(ContactData),
)


async def change_contact_data(
    work: Work, claim_id: int, patch: object, known_faults: Sequence[Fault] = ()
) -> None:
    """`patch`: parsed JSON; `known_faults`: what its text has shown to be wrong with it. Raises
    NotFound and ValidationError. A patch that says what is there changes nothing."""
    work.need(Right.CHANGE_CLAIMS)
    if await lock_claim(work.tx, work.merchant_id, claim_id) is None:
        raise NotFound(f"There is no claim {claim_id}.")
    present = read_row(await work.tx.fetchrow(_LOAD, work.merchant_id, claim_id), ContactData)
    changed = apply_patch(present, patch, known_faults)
    names = [
        each.encode_name
        for each in msgspec.structs.fields(ContactData)
        if getattr(present, each.name) != getattr(changed, each.name)
    ]
    if not names:
        return
    await work.tx.execute(_SAVE, work.merchant_id, claim_id, work.now, make_row(changed))
    await replace_terms(work, claim_id)
    before, after = keep_changed(_list_values(present), _list_values(changed))
    await save_audit(
        work, "claim.change", f"claim:{claim_id}",
        before=mask(before), after=mask(after), fields=names,
    )  # fmt: skip


def _list_values(contact: ContactData) -> dict[str, object]:
    fields = msgspec.structs.fields(ContactData)
    return {each.encode_name: getattr(contact, each.name) for each in fields}
