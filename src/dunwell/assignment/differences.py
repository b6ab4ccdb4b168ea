"""What changed between two sets of assignment rules, in words for who publishes them. Pure."""

from collections.abc import Iterator

from dunwell.assignment.document import RulesDocument, render_rule
from dunwell.kit.differences import compare_values

NO_RULES = RulesDocument(default=None)


def find_rule_differences(old: RulesDocument | None, new: RulesDocument) -> list[str]:
    """One line for each rule added, removed, changed or moved, and for the default."""
    return list(_compare(old or NO_RULES, new))


def _compare(old: RulesDocument, new: RulesDocument) -> Iterator[str]:
    before = {rule.name: rule for rule in old.rules}
    after = {rule.name: rule for rule in new.rules}
    for name in before:
        if name not in after:
            yield f'rule "{name}" removed'
    for name, rule in after.items():
        if name not in before:
            yield f'rule "{name}" added'
        elif rule != before[name]:
            then, now = render_rule(before[name]), render_rule(rule)
            yield from compare_values(f'rule "{name}"', then, now)
    kept_before = [name for name in before if name in after]
    kept_now = [name for name in after if name in before]
    if kept_before != kept_now:
        order = ", ".join(f'"{name}"' for name in after)
        yield f"rules in another order: {order}"
    if new.default != old.default:
        yield _describe_default(new)


def _describe_default(rules: RulesDocument) -> str:
    claims = "new claims that no rule matches" if rules.rules else "new claims"
    if rules.default is None:
        return f"no default workflow; {claims} stay unassigned"
    return f'default workflow "{rules.default}"; {claims} get it'
