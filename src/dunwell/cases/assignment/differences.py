"""What changed between two sets of assignment rules: as values, and in words for who publishes
them. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dunwell.cases.assignment.document import RuleDocument, RulesDocument, render_rule
from dunwell.platform.text.differences import compare_values

NO_RULES = RulesDocument(default=None)


class ChangeKind(StrEnum):
    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"
    # The rules that were there stand in another order.
    ORDER = "ORDER"
    DEFAULT = "DEFAULT"
    # A whole draft, of which nothing closer is known.
    SAVED = "SAVED"


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """`name`: of a rule, before and after."""

    kind: ChangeKind
    name: str | None = None
    before: RuleDocument | None = None
    after: RuleDocument | None = None


def compare_rules(old: RulesDocument | None, new: RulesDocument) -> Iterator[RuleDifference]:
    """The rules that went, came and changed, then the order, then the default."""
    old = old or NO_RULES
    before = {rule.name: rule for rule in old.rules}
    after = {rule.name: rule for rule in new.rules}
    for name, rule in before.items():
        if name not in after:
            yield RuleDifference(ChangeKind.REMOVED, name, before=rule)
    for name, rule in after.items():
        if name not in before:
            yield RuleDifference(ChangeKind.ADDED, name, after=rule)
        elif rule != before[name]:
            yield RuleDifference(ChangeKind.CHANGED, name, before[name], rule)
    if [name for name in before if name in after] != [name for name in after if name in before]:
        yield RuleDifference(ChangeKind.ORDER)
    if new.default != old.default:
        yield RuleDifference(ChangeKind.DEFAULT)


def find_rule_differences(old: RulesDocument | None, new: RulesDocument) -> list[str]:
    """One line for each rule added, removed or moved and each place changed, and the default."""
    return [line for each in compare_rules(old, new) for line in _describe(each, new)]


def _describe(difference: RuleDifference, new: RulesDocument) -> Iterator[str]:
    rule = f'rule "{difference.name}"'
    if difference.kind is ChangeKind.REMOVED:
        yield f"{rule} removed"
    elif difference.kind is ChangeKind.ADDED:
        yield f"{rule} added"
    elif difference.kind is ChangeKind.ORDER:
        order = ", ".join(f'"{each.name}"' for each in new.rules)
        yield f"rules in another order: {order}"
    elif difference.kind is ChangeKind.DEFAULT:
        yield _describe_default(new)
    elif difference.before is not None and difference.after is not None:
        then, now = render_rule(difference.before), render_rule(difference.after)
        yield from compare_values(rule, then, now)


def _describe_default(rules: RulesDocument) -> str:
    claims = "new claims that no rule matches" if rules.rules else "new claims"
    if rules.default is None:
        return f"no default workflow; {claims} stay unassigned"
    return f'default workflow "{rules.default}"; {claims} get it'
