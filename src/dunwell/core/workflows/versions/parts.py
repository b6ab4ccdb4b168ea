"""A definition taken apart and put together again: by part and by step, as the editor, the audit
log and comparisons name them. Pure.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from dunwell.accounts.merchants.audit_fields import select_changed_fields
from dunwell.core.workflows.definition import Definition

STEP_ORDER = "stepOrder"
SETTINGS = "settings"
_GROUPS = ("templates", "snippets")


def name_step(step_id: int) -> str:
    """The part that a step is."""
    return f"step {step_id}"


def find_step_id(part: str) -> int | None:
    """The reverse; None: the part is no step."""
    word, _, number = part.partition(" ")
    is_step = word == "step" and number.isascii() and number.isdecimal() and len(number) <= 10
    return int(number) if is_step else None


def is_writing(name: str) -> bool:
    """Whether the part is a template or a snippet: texts, by channel and language."""
    return name.partition("/")[0] in _GROUPS


def is_part(name: str) -> bool:
    group, slash, member = name.partition("/")
    is_member = group in _GROUPS and bool(slash and member)
    return is_member or name in (SETTINGS, STEP_ORDER) or find_step_id(name) is not None


def join_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The document that these parts are of. A step that the order does not name comes last; what
    the order names and is not there is left out."""
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
    """Settings, each step by its id, each template and snippet by its name, and the steps' order.
    None: nothing."""
    if definition is None:
        return {}
    values: dict[str, Any] = msgspec.to_builtins(definition)
    steps: list[dict[str, Any]] = values.pop("steps")
    parts: dict[str, Any] = {"stepOrder": [each["id"] for each in steps]}
    parts |= {f"step {each['id']}": each for each in steps}
    for group in ("templates", "snippets"):
        parts |= {f"{group}/{name}": each for name, each in (values.pop(group, None) or {}).items()}
    return {**values, **parts}


def compare(
    before: Definition | None, after: Definition | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of both, the parts that differ."""
    return select_changed_fields(list_parts(before), list_parts(after))
