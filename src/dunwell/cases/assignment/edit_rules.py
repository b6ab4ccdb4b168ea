"""Change one thing in the draft of the rules, which starts as a copy of the published rules.

Replacing a rule conflicts only with a change of that rule, and setting the default only with a
change of the default. Moving, removing and copying conflict with any change of the draft. Adding
never conflicts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.overlaps import Overlap, list_overlaps_of_rule
from dunwell.cases.assignment.rulebook import load_rulebook_of_rules
from dunwell.cases.assignment.rules import (
    MAX_RULES,
    Rule,
    RuleSet,
    build_document,
    list_unknown_name_faults,
    parse_rules,
    resolve_names,
)
from dunwell.cases.assignment.rules_draft import DRAFT_CHANGED, lock_rules_state, replace_draft
from dunwell.cases.assignment.store import find_published_rules, find_rules_draft, load_targets
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.text.differences import compute_revision

MAX_NAME_LENGTH = 255


@dataclass(frozen=True, slots=True)
class PutRule:
    """Replace the rule `name`, if it still has the revision `expected_revision`. Without a
    name, add the rule at the end."""

    rule: Rule
    name: str | None = None
    expected_revision: str = ""


@dataclass(frozen=True, slots=True)
class MoveRule:
    """Move the rule to this position, counted from 0."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class RemoveRule:
    name: str


@dataclass(frozen=True, slots=True)
class CopyRule:
    """Copy the rule to the next position, under a new name."""

    name: str


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the default, if it is still `expected`."""

    default: UUID | None
    expected: UUID | None


RulesEdit: TypeAlias = PutRule | MoveRule | RemoveRule | CopyRule | SetDefault


def find_rule(rules: RuleSet, name: str | None) -> Rule | None:
    return next((rule for rule in rules.rules if rule.name == name), None)


def apply_edit(rules: RuleSet, edit: RulesEdit) -> RuleSet | None:
    """Return the rules after the edit. Return None if the rule or default that the edit names is
    gone or has another revision."""
    if isinstance(edit, SetDefault):
        return RuleSet(edit.default, rules.rules) if rules.default == edit.expected else None
    if isinstance(edit, PutRule) and edit.name is None:
        return RuleSet(rules.default, (*rules.rules, edit.rule))
    rule = find_rule(rules, edit.name)
    if rule is None or (
        isinstance(edit, PutRule) and compute_revision(rule) != edit.expected_revision
    ):
        return None
    return RuleSet(rules.default, _apply_to_rule(rules, rule, edit))


def _apply_to_rule(rules: RuleSet, rule: Rule, edit: RulesEdit) -> tuple[Rule, ...]:
    position = rules.rules.index(rule)
    if isinstance(edit, PutRule):
        return _replace_at(rules, position, edit.rule)
    if isinstance(edit, CopyRule):
        copy = msgspec.structs.replace(rule, name=_name_copy(rules, rule.name))
        return _replace_at(rules, position, rule, copy)
    others = [*_replace_at(rules, position)]
    if isinstance(edit, MoveRule):
        others.insert(min(max(edit.position, 0), len(others)), rule)
    return tuple(others)


def _replace_at(rules: RuleSet, position: int, *replacements: Rule) -> tuple[Rule, ...]:
    return (*rules.rules[:position], *replacements, *rules.rules[position + 1 :])


def _name_copy(rules: RuleSet, name: str) -> str:
    taken = {rule.name for rule in rules.rules}
    for number in count(2):
        ending = f" ({number})"
        copy = f"{name[: MAX_NAME_LENGTH - len(ending)].rstrip()}{ending}"
        if copy not in taken:
            break
    return copy


_REPEATED = Fault("/name", "Another rule has this name. Choose another name.", "REPEATED")
# Edits of the list, which depend on the revision of the whole draft.
_LIST_EDITS = (MoveRule, RemoveRule, CopyRule)


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """The result of checking a rule. `rule` is None if there are faults, whose paths are relative
    to the rule."""

    rule: Rule | None
    faults: tuple[Fault, ...] = ()
    # The draft including the rule, and the overlaps of the rule with the others.
    draft_rules: RuleSet | None = None
    overlaps: tuple[Overlap, ...] = ()


async def edit_rules_draft(work: Work, edit: RulesEdit, *, expected_revision: str = "") -> None:
    """Apply the edit to the draft.

    `expected_revision` is the revision that the user saw; it is checked for edits of the list.
    Raises EditConflict, whose `current` is the present rule for a PutRule, the present default for
    a SetDefault, and None for all other edits. Raises ValidationError if there are too many rules
    or a name is used twice.
    """
    work.require(Right.CONFIGURE)
    state = await lock_rules_state(work)
    if isinstance(edit, _LIST_EDITS) and expected_revision != state.revision:
        raise EditConflict(DRAFT_CHANGED)
    rules = apply_edit(state.rules, edit)
    if rules is None:
        raise await _build_conflict(work, state.rules, edit)
    if len(rules.rules) > MAX_RULES:
        message = f"A merchant has at most {MAX_RULES} rules; remove one first."
        raise ValidationError([Fault("/name", message, "TOO_MANY")])
    if len({rule.name for rule in rules.rules}) < len(rules.rules):
        raise ValidationError([_REPEATED])
    await replace_draft(work, state, rules)


async def check_rule(work: Work, value: Mapping[str, Any], name: str | None) -> CheckedRule:
    """Check a rule together with the rules of the draft. `name` is the rule that it replaces, if
    any."""
    work.require(Right.READ_CLAIMS)
    draft = await find_rules_draft(work.tx, work.merchant_id)
    published = await find_published_rules(work.tx, work.merchant_id)
    current = draft or published
    rules = current.rules if current else RuleSet()
    targets = await load_targets(work.tx, work.merchant_id)
    ids = {row.name: row.workflow_id for row in targets.values() if not row.is_deleted}
    others = {rule.name for rule in rules.rules if rule.name != name}
    faults = [*_list_faults(value, ids, others)]
    if faults:
        return CheckedRule(None, tuple(faults))
    [rule] = resolve_names(parse_rules({"rules": [value], "default": None}), ids).rules
    replaced = find_rule(rules, name)
    edited = tuple(rule if each is replaced else each for each in rules.rules)
    if replaced is None:
        edited = (*edited, rule)
    rulebook = await load_rulebook_of_rules(
        work.tx, work.merchant, RuleSet(rules.default, edited), None
    )
    overlaps = list_overlaps_of_rule(rule, rulebook.rules, rulebook.targets)
    return CheckedRule(rule, draft_rules=rulebook.rules, overlaps=overlaps)


def _list_faults(
    value: Mapping[str, Any], ids: Mapping[str, Any], others: set[str]
) -> Iterator[Fault]:
    try:
        document = parse_rules({"rules": [value], "default": None})
    except ValidationError as refusal:
        faults = refusal.faults
    else:
        faults = list(list_unknown_name_faults(document, ids))
    for fault in faults:
        yield Fault(fault.path.removeprefix("/rules/0"), fault.message, fault.code)
    if value.get("name") in others:
        yield _REPEATED


async def _build_conflict(work: Work, rules: RuleSet, edit: RulesEdit) -> EditConflict:
    """Build a conflict with the present rule or default, or with None if it was removed."""
    targets = await load_targets(work.tx, work.merchant_id)
    document = build_document(rules, {row.workflow_id: row.name for row in targets.values()})
    name = edit.name if isinstance(edit, PutRule) else None
    rule = next((each for each in document.rules if each.name == name), None)
    current = document.default if isinstance(edit, SetDefault) else rule
    return EditConflict(DRAFT_CHANGED, current=current)
