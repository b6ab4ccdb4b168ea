"""Change a claim's debtor and contact data, in each status of the claim.

Messages that were rendered but not handed over are rendered again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import mask, save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import list_debtor_faults
from dunwell.cases.intake.submission import ClaimSubmission, ContactPatch
from dunwell.core.claims.fields import (
    ContactData,
    build_debtor_fields,
    build_debtor_row,
    render_columns,
    render_record_columns,
)
from dunwell.core.claims.searching.search_claims import replace_search_terms
from dunwell.core.claims.store import lock_claim
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.json_text import convert_valid_fields
from dunwell.platform.text.shape import find_faults, limit_faults

# Wire names of changeable fields -> their names.
_CHANGEABLE = {each.encode_name: each.name for each in msgspec.structs.fields(ContactData)}
# Fields of a claim that cannot be changed here -> where to change them.
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
    """Return the contact data after the patch. Raises ValidationError with every fault.

    `known_faults` are faults that were found in the patch's text, which are reported with the
    others.
    """
    faults = [*map(_explain, find_faults(patch, ContactPatch)), *known_faults]
    if not isinstance(patch, dict):
        raise ValidationError(faults)
    merged = _merge_patch(_build_document(present), patch)
    # A stored value may be invalid under today's rules. That does not keep other fields from being
    # changed.
    changed = {name: merged.get(name) for name in patch if name in _CHANGEABLE}
    faults += find_faults(changed, ContactData)
    faults += list_debtor_faults(_replace_fields(present, changed))
    if faults:
        raise ValidationError(limit_faults(faults))
    return _replace_fields(present, changed)


def _replace_fields(present: ContactData, changed: Mapping[str, Any]) -> ContactData:
    """Return the data with the changed fields. Unreadable values are UNSET."""
    read = convert_valid_fields(dict(changed), ContactData)
    names = {_CHANGEABLE[name] for name in changed}
    return msgspec.structs.replace(present, **{name: getattr(read, name) for name in names})


def _build_document(present: ContactData) -> dict[str, Any]:
    """Return the data as it would be submitted: without empty fields."""
    document: dict[str, Any] = msgspec.to_builtins(present)
    return {
        name: _drop_nulls(value) if isinstance(value, dict) else value
        for name, value in document.items()
        if value is not None
    }


def _drop_nulls(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _merge_patch(target: Any, patch: Any) -> Any:
    """Merge a patch as RFC 7396, section 2, defines it."""
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
    """Return the fault with a message that says where an unchangeable field can be changed."""
    message = _UNCHANGEABLE.get(fault.path.removeprefix("/"))
    if fault.code != "UNKNOWN_FIELD" or message is None:
        return fault
    return replace(fault, message=f'"{fault.path[1:]}" cannot be changed here. {message}')


_COLUMNS = render_columns(ContactData)
# Uses the primary key.
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
    record=render_record_columns(ContactData),
)


async def change_contact_data(
    work: Work, claim_id: int, patch: object, known_faults: Sequence[Fault] = ()
) -> None:
    """Apply a patch of parsed JSON. A patch with the present values changes nothing.

    `known_faults` are faults that were found in its text. Raises NotFound and ValidationError.
    """
    work.require(Right.CHANGE_CLAIMS)
    if await lock_claim(work.tx, work.merchant_id, claim_id) is None:
        raise NotFound(f"There is no claim {claim_id}.")
    present = build_debtor_fields(
        await work.tx.fetchrow(_LOAD, work.merchant_id, claim_id), ContactData
    )
    changed = apply_patch(present, patch, known_faults)
    names = [
        each.encode_name
        for each in msgspec.structs.fields(ContactData)
        if getattr(present, each.name) != getattr(changed, each.name)
    ]
    if not names:
        return
    await work.tx.execute(_SAVE, work.merchant_id, claim_id, work.now, build_debtor_row(changed))
    await replace_search_terms(work, claim_id)
    before, after = select_changed_fields(_list_values(present), _list_values(changed))
    await save_audit(
        work, "claim.change", f"claim:{claim_id}",
        before=mask(before), after=mask(after), fields=names,
    )  # fmt: skip


def _list_values(contact: ContactData) -> dict[str, object]:
    fields = msgspec.structs.fields(ContactData)
    return {each.encode_name: getattr(contact, each.name) for each in fields}
