"""A merchant's assignment rules (CONTRACT 8): as stored, as documents that name workflows, their
faults, and the differences between two sets of rules. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from dunwell.core.workflows.definition import Condition, Name
from dunwell.core.workflows.definition_rules import find_condition_faults, find_repeat_faults
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.differences import compare_values
from dunwell.platform.text.shape import convert_if_valid, find_faults, suggest_known
from dunwell.platform.text.texts import find_unprintable


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Share(_Part, frozen=True):
    """The workflow gets this percentage of the claims."""

    workflow: UUID
    percent: int


class Rule(_Part, frozen=True):
    """Claims that meet `when` (all claims if it is None) get the target. The shares of a split add
    up to 100."""

    name: str
    target: UUID | tuple[Share, ...]
    when: Condition | None = None
    active: bool = True


class RuleSet(_Part, frozen=True):
    """The first active rule that matches wins. Without a default, a claim that no rule matches
    stays unassigned."""

    default: UUID | None = None
    rules: tuple[Rule, ...] = ()


def list_shares(rule: Rule) -> tuple[Share, ...]:
    """Return the target as shares. A single workflow has all of it."""
    target = rule.target
    return (Share(target, 100),) if isinstance(target, UUID) else target


def list_targets(rules: RuleSet) -> list[UUID]:
    """Return each workflow that the rules refer to, once, including inactive rules and the
    default.
    """
    targets = [share.workflow for rule in rules.rules for share in list_shares(rule)]
    if rules.default is not None:
        targets.append(rules.default)
    return list(dict.fromkeys(targets))


def has_splits(rules: RuleSet) -> bool:
    """Return whether a claim's id can decide which workflow it gets."""
    return any(rule.active and len(list_shares(rule)) > 1 for rule in rules.rules)


MAX_RULES = 200
MAX_SHARES = 20


class _DocumentPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class ShareDocument(_DocumentPart, frozen=True):
    workflow: Name
    percent: Annotated[int, Meta(ge=1, le=100)]


class RuleDocument(_DocumentPart, frozen=True):
    name: Name
    # A workflow, or shares that add up to 100.
    target: Name | Annotated[list[ShareDocument], Meta(min_length=1, max_length=MAX_SHARES)]
    when: Condition | None = None
    active: bool = True


class RulesDocument(_DocumentPart, frozen=True):
    # With null, a claim that no rule matches stays unassigned.
    default: Name | None
    rules: Annotated[list[RuleDocument], Meta(max_length=MAX_RULES)] = []


def resolve_names(document: RulesDocument, ids: Mapping[str, UUID]) -> RuleSet:
    """Return the rules with ids instead of names. Each name must be in `ids`."""
    default = None if document.default is None else ids[document.default]
    return RuleSet(default, tuple(_resolve_rule(rule, ids) for rule in document.rules))


def build_document(rules: RuleSet, names: Mapping[UUID, str]) -> RulesDocument:
    """Return the rules with names instead of ids. A workflow that is not in `names` keeps its
    id.
    """
    default = None if rules.default is None else _get_name(rules.default, names)
    return RulesDocument(
        default=default, rules=[_build_rule_document(rule, names) for rule in rules.rules]
    )


def render_document(document: RulesDocument) -> dict[str, Any]:
    """Return the document as JSON data, without properties that a condition does not test."""
    return {
        "rules": [render_rule(rule) for rule in document.rules],
        "default": document.default,
    }


def render_rule(rule: RuleDocument) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(rule)
    when = _drop_nulls(values["when"])
    conditions = {} if when is None else {"when": when}
    return {
        "name": rule.name,
        "active": rule.active,
        **conditions,
        "target": values["target"],
    }


def list_workflow_names(document: RulesDocument) -> list[tuple[str, str]]:
    """Return the JSON pointer and the name of each workflow in the document."""
    places = []
    for index, rule in enumerate(document.rules):
        path = f"/rules/{index}/target"
        if isinstance(rule.target, str):
            places.append((path, rule.target))
            continue
        for place, share in enumerate(rule.target):
            places.append((f"{path}/{place}/workflow", share.workflow))
    if document.default is not None:
        places.append(("/default", document.default))
    return places


def _resolve_rule(rule: RuleDocument, ids: Mapping[str, UUID]) -> Rule:
    if isinstance(rule.target, str):
        return Rule(rule.name, ids[rule.target], rule.when, rule.active)
    shares = tuple(Share(ids[share.workflow], share.percent) for share in rule.target)
    return Rule(rule.name, shares, rule.when, rule.active)


def _build_rule_document(rule: Rule, names: Mapping[UUID, str]) -> RuleDocument:
    target: str | list[ShareDocument]
    if isinstance(rule.target, UUID):
        target = _get_name(rule.target, names)
    else:
        target = [
            ShareDocument(workflow=_get_name(share.workflow, names), percent=share.percent)
            for share in rule.target
        ]
    return RuleDocument(name=rule.name, target=target, when=rule.when, active=rule.active)


def _get_name(workflow_id: UUID, names: Mapping[UUID, str]) -> str:
    return names.get(workflow_id, str(workflow_id))


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_nulls(inner) for name, inner in value.items() if inner is not None}
    return value


NO_RULES = RulesDocument(default=None)


class ChangeKind(StrEnum):
    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"
    # The rules that are in both sets have another order.
    ORDER = "ORDER"
    DEFAULT = "DEFAULT"
    # A draft was saved as a whole, without known details.
    SAVED = "SAVED"


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A difference between two sets of rules. `name` is the name of the rule, which is the same
    before and after."""

    kind: ChangeKind
    name: str | None = None
    before: RuleDocument | None = None
    after: RuleDocument | None = None


def compare_rules(old: RulesDocument | None, new: RulesDocument) -> Iterator[RuleDifference]:
    """Yield the removed, added and changed rules, then a change of the order, then a change of the
    default."""
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


def describe_rule_differences(old: RulesDocument | None, new: RulesDocument) -> list[str]:
    """Return a line for each rule that was added or removed, for each changed value, and for the
    order and the default."""
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


def parse_rules(value: object) -> RulesDocument:
    """Parse the rules of a JSON or YAML document. Raises ValidationError with all faults."""
    faults = [*find_faults(value, RulesDocument), *find_unprintable(value)]
    if isinstance(value, dict):
        faults += list_rule_faults(value)
    if faults:
        raise ValidationError(list(dict.fromkeys(faults)))
    return msgspec.convert(value, RulesDocument)


def list_rule_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the faults that types cannot express. Parts with the wrong shape are skipped."""
    raw_rules = document.get("rules")
    rules = (
        [convert_if_valid(each, RuleDocument) for each in raw_rules]
        if isinstance(raw_rules, list)
        else []
    )
    names = [object() if rule is None else rule.name for rule in rules]
    for fault in find_repeat_faults(names, "/rules"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)
    for index, rule in enumerate(rules):
        if rule is not None:
            yield from _list_faults_of_rule(rule, f"/rules/{index}")
        elif isinstance(raw_rules, list) and isinstance(raw_rules[index], dict):
            # A wrong shape elsewhere in the rule does not hide the faults of its condition.
            when = convert_if_valid(raw_rules[index].get("when"), Condition)
            if when is not None:
                yield from find_condition_faults(when, f"/rules/{index}/when")


def list_unknown_name_faults(document: RulesDocument, known: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each name that is not in `known`, the names of the workflows."""
    for path, name in list_workflow_names(document):
        if name not in known:
            nearest = suggest_known(name, list(known))
            message = f'There is no workflow "{name}". {nearest}'
            yield Fault(path, message, "UNKNOWN_WORKFLOW")


def _list_faults_of_rule(rule: RuleDocument, path: str) -> Iterator[Fault]:
    if rule.name != rule.name.strip():
        message = "Remove the space at the ends of the name."
        yield Fault(f"{path}/name", message, "WRONG_FORMAT")
    if rule.when is not None:
        yield from find_condition_faults(rule.when, f"{path}/when")
    if isinstance(rule.target, str):
        return
    names = [share.workflow for share in rule.target]
    for fault in find_repeat_faults(names, f"{path}/target"):
        yield Fault(f"{fault.path}/workflow", fault.message, fault.code)
    total = sum(share.percent for share in rule.target)
    if total != 100:
        message = f"The shares sum to {total}; make them sum to 100."
        yield Fault(f"{path}/target", message, "WRONG_SUM")
