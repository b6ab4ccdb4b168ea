"""Changes whom a claim is about and how the debtor is contacted, in every state of the claim.

Whatever is rendered for the claim and has not been handed over is rendered anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import mask, save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import find_debtor_faults
from dunwell.cases.intake.submission import ClaimSubmission, ContactPatch
from dunwell.core.claims.fields import ContactData, define_record, list_columns, make_row, read_row
from dunwell.core.claims.searching.search_claims import replace_terms
from dunwell.core.claims.store import lock_claim
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.json_text import read_readable
from dunwell.platform.text.shape import find_faults, limit_faults

# What can be changed, by its name on the wire.
_CHANGEABLE = {each.encode_name: each.name for each in msgspec.structs.fields(ContactData)}
# Of a claim, and never changed once it was handed over; where else it is changed.
_UNCHANGEABLE = {
    each.encode_name: "It cannot be changed."
    for each in msgspec.structs.fields(ClaimSubmission)
    if each.name not in ContactData.__struct_fields__
} | {
    "items": "Add and delete items at .../items, fees at .../fees.",
    "attachments": "Add, replace and delete them at .../attachments.",
}


def apply_patch(
    present: ContactData, patch: object, known_faults: Sequence[Fault] = ()
) -> ContactData:
    """What the claim says after the patch. Raises ValidationError with every fault. `known_faults`:
    what is wrong with the patch already, which is told together with the rest."""
    faults = [*map(_explain, find_faults(patch, ContactPatch)), *known_faults]
    if not isinstance(patch, dict):
        raise ValidationError(faults)
    merged = _merge_patch(_build_document(present), patch)
    # A claim may hold what is refused today; it does not keep other fields from being changed.
    changed = {name: merged.get(name) for name in patch if name in _CHANGEABLE}
    faults += find_faults(changed, ContactData)
    faults += find_debtor_faults(_replace_fields(present, changed))
    if faults:
        raise ValidationError(limit_faults(faults))
    return _replace_fields(present, changed)


def _replace_fields(present: ContactData, changed: Mapping[str, Any]) -> ContactData:
    """The present data with the changed fields, of which those that cannot be read are UNSET."""
    read = read_readable(dict(changed), ContactData)
    names = {_CHANGEABLE[name] for name in changed}
    return msgspec.structs.replace(present, **{name: getattr(read, name) for name in names})


def _build_document(present: ContactData) -> dict[str, Any]:
    """As it would be submitted: without what is not there."""
    document: dict[str, Any] = msgspec.to_builtins(present)
    return {
        name: _drop_nulls(value) if isinstance(value, dict) else value
        for name, value in document.items()
        if value is not None
    }


def _drop_nulls(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(merged.get(name), value)
    return merged


def _explain(fault: Fault) -> Fault:
    words = _UNCHANGEABLE.get(fault.path.removeprefix("/"))
    if fault.code != "UNKNOWN_FIELD" or words is None:
        return fault
    return replace(fault, message=f'"{fault.path[1:]}" is not changed here. {words}')


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
    before, after = select_changed_fields(_list_values(present), _list_values(changed))
    await save_audit(
        work, "claim.change", f"claim:{claim_id}",
        before=mask(before), after=mask(after), fields=names,
    )  # fmt: skip


def _list_values(contact: ContactData) -> dict[str, object]:
    fields = msgspec.structs.fields(ContactData)
    return {each.encode_name: getattr(contact, each.name) for each in fields}
