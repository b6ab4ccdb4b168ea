"""Split a definition into named parts and join them again. The editor, the audit log and
comparisons use these names. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from dunwell.accounts.merchants.audit_fields import select_changed_fields
from dunwell.core.workflows.definition import Definition

STEP_ORDER = "stepOrder"
SETTINGS = "settings"
_GROUPS = ("templates", "snippets")


def build_step_part_name(step_id: int) -> str:
    """Return the name of the step's part."""
    return f"step {step_id}"


def find_step_id(part: str) -> int | None:
    """Return the step id in a part's name, or None if the part is not a step."""
    word, _, number = part.partition(" ")
    is_step = word == "step" and number.isascii() and number.isdecimal() and len(number) <= 10
    return int(number) if is_step else None


def is_text_part(name: str) -> bool:
    """Return whether the part is a template or a snippet, which holds texts."""
    return name.partition("/")[0] in _GROUPS


def is_part(name: str) -> bool:
    """Return whether a part of a definition can have this name."""
    group, slash, member = name.partition("/")
    is_member = group in _GROUPS and bool(slash and member)
    return is_member or name in (SETTINGS, STEP_ORDER) or find_step_id(name) is not None


def join_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of these parts. Steps that the order does not name come last; unknown ids
    in the order are ignored."""
    steps = {number: value for name, value in parts.items() if (number := find_step_id(name))}
    named = [each for each in parts.get(STEP_ORDER) or () if each in steps]
    order = [*dict.fromkeys(named), *(each for each in steps if each not in named)]
    document: dict[str, Any] = {
        "settings": parts.get(SETTINGS),
        "steps": [steps[each] for each in order],
    }
    for name, value in parts.items():
        group, slash, member = name.partition("/")
        if slash and group in _GROUPS:
            document.setdefault(group, {})[member] = value
    return document


def list_parts(definition: Definition | None) -> dict[str, Any]:
    """Return the parts by name: settings, each step, each template and snippet, and the order of
    steps. Return no parts for None."""
    if definition is None:
        return {}
    values: dict[str, Any] = msgspec.to_builtins(definition)
    steps: list[dict[str, Any]] = values.pop("steps")
    parts: dict[str, Any] = {"stepOrder": [each["id"] for each in steps]}
    parts |= {f"step {each['id']}": each for each in steps}
    for group in ("templates", "snippets"):
        parts |= {f"{group}/{name}": each for name, each in (values.pop(group, None) or {}).items()}
    return {**values, **parts}


def select_changed_parts(
    before: Definition | None, after: Definition | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts that differ, as they are before and after."""
    return select_changed_fields(list_parts(before), list_parts(after))
