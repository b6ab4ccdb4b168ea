"""Everything wrong with assignment rules, at once, each with its place (CONTRACT 8).

Shape by the schema of `document`, conditions by the grammar they share with the guards of steps. A
rule of the wrong shape does not keep the others from being looked at. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from dunwell.cases.assignment.rules import RuleDocument, RulesDocument, list_names
from dunwell.core.workflows.definition import Condition
from dunwell.core.workflows.definition_rules import find_condition_faults, find_repeats
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import find_faults, read_if_fits, render_nearest
from dunwell.platform.text.texts import find_unprintable


def check_rules(value: object) -> RulesDocument:
    """The rules that a parsed JSON or YAML document states. Raises ValidationError, all faults."""
    faults = [*find_faults(value, RulesDocument), *find_unprintable(value)]
    if isinstance(value, dict):
        faults += find_rule_faults(value)
    if faults:
        raise ValidationError(list(dict.fromkeys(faults)))
    return msgspec.convert(value, RulesDocument)


def find_rule_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """What shape cannot say; parts of another shape are left out."""
    given = document.get("rules")
    rules = [read_if_fits(each, RuleDocument) for each in given] if isinstance(given, list) else []
    names = [object() if rule is None else rule.name for rule in rules]
    for fault in find_repeats(names, "/rules"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)
    for index, rule in enumerate(rules):
        if rule is not None:
            yield from _find_faults(rule, f"/rules/{index}")
        elif isinstance(given, list) and isinstance(given[index], dict):
            # The rest of the rule has another shape, which hides no fault of its condition.
            when = read_if_fits(given[index].get("when"), Condition)
            if when is not None:
                yield from find_condition_faults(when, f"/rules/{index}/when")


def find_unknown_names(document: RulesDocument, known: Collection[str]) -> Iterator[Fault]:
    """Names that are no workflow's; `known` has those there are."""
    for path, name in list_names(document):
        if name not in known:
            nearest = render_nearest(name, list(known))
            message = f'There is no workflow "{name}". {nearest}'
            yield Fault(path, message, "UNKNOWN_WORKFLOW")


def _find_faults(rule: RuleDocument, path: str) -> Iterator[Fault]:
    if rule.name != rule.name.strip():
        message = "Remove the space at the ends of the name."
        yield Fault(f"{path}/name", message, "WRONG_FORMAT")
    if rule.when is not None:
        yield from find_condition_faults(rule.when, f"{path}/when")
    if isinstance(rule.target, str):
        return
    names = [share.workflow for share in rule.target]
    for fault in find_repeats(names, f"{path}/target"):
        yield Fault(f"{fault.path}/workflow", fault.message, fault.code)
    total = sum(share.percent for share in rule.target)
    if total != 100:
        message = f"The shares sum to {total}; make them sum to 100."
        yield Fault(f"{path}/target", message, "WRONG_SUM")
