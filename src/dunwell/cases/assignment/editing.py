"""Changes of one thing in a list of assignment rules. Each says what its maker had seen of it, so
that of two who change the same neither overwrites the other. Pure."""

from dataclasses import dataclass
from itertools import count
from typing import TypeAlias
from uuid import UUID

import msgspec

from dunwell.cases.assignment.rules import Rule, RuleSet
from dunwell.platform.text.differences import compute_revision

LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class PutRule:
    """A rule in the place of the one called `name` that was seen with this revision; no name:
    behind all others."""

    rule: Rule
    name: str | None = None
    seen: str = ""


@dataclass(frozen=True, slots=True)
class MoveRule:
    """To this place, counted from 0."""

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class RemoveRule:
    name: str


@dataclass(frozen=True, slots=True)
class CopyRule:
    """Right behind it, under another name."""

    name: str


@dataclass(frozen=True, slots=True)
class SetDefault:
    default: UUID | None
    seen: UUID | None


Edit: TypeAlias = PutRule | MoveRule | RemoveRule | CopyRule | SetDefault


def find_rule(rules: RuleSet, name: str | None) -> Rule | None:
    return next((rule for rule in rules.rules if rule.name == name), None)


def apply_edit(rules: RuleSet, edit: Edit) -> RuleSet | None:
    """The rules with the change; none: what it is about is gone, or not as it was seen."""
    if isinstance(edit, SetDefault):
        return RuleSet(edit.default, rules.rules) if rules.default == edit.seen else None
    if isinstance(edit, PutRule) and edit.name is None:
        return RuleSet(rules.default, (*rules.rules, edit.rule))
    found = find_rule(rules, edit.name)
    if found is None or (isinstance(edit, PutRule) and compute_revision(found) != edit.seen):
        return None
    return RuleSet(rules.default, _edit(rules, found, edit))


def _edit(rules: RuleSet, found: Rule, edit: Edit) -> tuple[Rule, ...]:
    place = rules.rules.index(found)
    if isinstance(edit, PutRule):
        return _splice(rules, place, edit.rule)
    if isinstance(edit, CopyRule):
        copy = msgspec.structs.replace(found, name=_name_copy(rules, found.name))
        return _splice(rules, place, found, copy)
    others = [*_splice(rules, place)]
    if isinstance(edit, MoveRule):
        others.insert(min(max(edit.place, 0), len(others)), found)
    return tuple(others)


def _splice(rules: RuleSet, place: int, *instead: Rule) -> tuple[Rule, ...]:
    return (*rules.rules[:place], *instead, *rules.rules[place + 1 :])


def _name_copy(rules: RuleSet, name: str) -> str:
    taken = {rule.name for rule in rules.rules}
    for number in count(2):
        ending = f" ({number})"
        copy = f"{name[: LONGEST_NAME - len(ending)].rstrip()}{ending}"
        if copy not in taken:
            break
    return copy
