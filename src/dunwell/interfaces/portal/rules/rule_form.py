"""The form of an assignment rule: its name, its condition, and the workflows with their shares.
Pure.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from dunwell.cases.assignment.rules import RuleDocument
from dunwell.interfaces.web.condition_form import (
    CONDITION_FIELDS,
    build_condition,
    flatten_condition,
)
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldKind,
    Form,
    FormContent,
    PlacedFaults,
    open_form,
    read_number,
)
from dunwell.platform.errors import Fault

_FIELDS = (
    Field("name"),
    Field("active", FieldKind.FLAG),
    *CONDITION_FIELDS,
    Field("target", FieldKind.PAIRS),
)


def open_rule(rule: RuleDocument | None, amounts: AmountFormat) -> Form:
    """None: a new rule."""
    if rule is None:
        return open_form(_FIELDS, {"active": True}, amounts)
    given = msgspec.to_builtins(rule)
    given["when"] = flatten_condition(given["when"])
    if isinstance(rule.target, str):
        given["target"] = [(rule.target, "")]
    else:
        given["target"] = [(each.workflow, str(each.percent)) for each in rule.target]
    return open_form(_FIELDS, given, amounts)


def build_rule(content: FormContent, stored: RuleDocument | None) -> dict[str, Any]:
    """The rule that a form says, as people write it, to be checked (`check_rule`). stored: the rule
    that the form was opened on; what is written in the same way stays so."""
    given = msgspec.to_builtins(stored) if stored else {}
    when = build_condition(content, given.get("when"))
    rule = {"name": "", **content.parts}
    rule["target"] = _build_target(rule["target"], is_list=isinstance(given.get("target"), list))
    rule.pop("when", None)
    return {**rule, "when": when} if when else rule


def place_rule_faults(form: Form, faults: Sequence[Fault]) -> PlacedFaults:
    """The faults of a rule, with their fields; those of a share, with the field of its row."""
    return [(_find_share(fault.path) or name, fault) for name, fault in form.place(faults)]


def _find_share(pointer: str) -> str:
    _, first, *rest = [*pointer.split("/"), "", ""]
    if first != "target":
        return "" if pointer else "name"
    return f"target.{'value' if rest[1:2] == ['percent'] else 'name'}.{rest[0] or 0}"


def _build_target(pairs: Sequence[tuple[str, str]], *, is_list: bool) -> str | list[dict[str, Any]]:
    """One workflow is written alone, unless it was a share of a hundred percent."""
    if len(pairs) == 1 and (
        not pairs[0][1].strip() or (pairs[0][1].strip() == "100" and not is_list)
    ):
        return pairs[0][0]
    return [{"workflow": name, "percent": _read_percent(text.strip())} for name, text in pairs]


def _read_percent(text: str) -> int | str:
    """Text that is no number is left as it is, for the check to find."""
    number = read_number(text)
    return text if isinstance(number, Fault) else number
