"""What of a definition stands in the audit log when its draft changes: by part and by step, so that
a change of one sentence does not tell the whole process twice. Pure.
"""

from typing import Any

import msgspec

from dunwell.accounts.merchants.audit_fields import keep_changed
from dunwell.core.workflows.definition import Definition


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
    return keep_changed(list_parts(before), list_parts(after))
