"""Applies a JSON merge patch (RFC 7396) to what of a claim can be changed, and checks what comes of
it by the rules of creation. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dunwell.cases.intake.check_claims import find_faulty_debtor
from dunwell.cases.intake.submission import ClaimSubmission, ContactPatch
from dunwell.core.claims.fields import ContactData
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.readable import read_readable
from dunwell.platform.text.shape import find_faults, limit_faults

# What can be changed, by its name on the wire.
_NAMES = {each.encode_name: each.name for each in msgspec.structs.fields(ContactData)}
# Of a claim, and never changed once it was handed over; where else it is changed.
_FIXED = {
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
    merged = _merge(_as_document(present), patch)
    # A claim may hold what is refused today; it does not keep other fields from being changed.
    changed = {name: merged.get(name) for name in patch if name in _NAMES}
    faults += find_faults(changed, ContactData)
    faults += find_faulty_debtor(_overlay(present, changed))
    if faults:
        raise ValidationError(limit_faults(faults))
    return _overlay(present, changed)


def _overlay(present: ContactData, changed: Mapping[str, Any]) -> ContactData:
    """The present data with the changed fields, of which those that cannot be read are UNSET."""
    read = read_readable(dict(changed), ContactData)
    names = {_NAMES[name] for name in changed}
    return msgspec.structs.replace(present, **{name: getattr(read, name) for name in names})


def _as_document(present: ContactData) -> dict[str, Any]:
    """As it would be submitted: without what is not there."""
    document: dict[str, Any] = msgspec.to_builtins(present)
    return {
        name: _drop_nulls(value) if isinstance(value, dict) else value
        for name, value in document.items()
        if value is not None
    }


def _drop_nulls(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _explain(fault: Fault) -> Fault:
    words = _FIXED.get(fault.path.removeprefix("/"))
    if fault.code != "UNKNOWN_FIELD" or words is None:
        return fault
    return replace(fault, message=f'"{fault.path[1:]}" is not changed here. {words}')
