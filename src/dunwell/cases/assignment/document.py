"""Assignment rules as people write them (CONTRACT 8): workflows by their names.

Used by merchant files and `dunwell rules`; what is stored has ids (`rules`). Pure.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from dunwell.cases.assignment.rules import Rule, RuleSet, Share
from dunwell.core.workflows.definition import Condition, Name

MAX_RULES = 200
MAX_SHARES = 20


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class ShareDocument(_Part, frozen=True):
    workflow: Name
    percent: Annotated[int, Meta(ge=1, le=100)]


class RuleDocument(_Part, frozen=True):
    name: Name
    # A workflow, or shares that sum to 100.
    target: Name | Annotated[list[ShareDocument], Meta(min_length=1, max_length=MAX_SHARES)]
    when: Condition | None = None
    active: bool = True


class RulesDocument(_Part, frozen=True):
    # Null: a claim that no rule matches stays unassigned.
    default: Name | None
    rules: Annotated[list[RuleDocument], Meta(max_length=MAX_RULES)] = []


def resolve_names(document: RulesDocument, ids: Mapping[str, UUID]) -> RuleSet:
    """The rules with ids for names; every name must be in `ids`."""
    default = None if document.default is None else ids[document.default]
    return RuleSet(default, tuple(_read_rule(rule, ids) for rule in document.rules))


def write_rules(rules: RuleSet, names: Mapping[UUID, str]) -> RulesDocument:
    """The rules with names for ids; a workflow that is not in `names` keeps its id."""
    default = None if rules.default is None else _name(rules.default, names)
    return RulesDocument(default=default, rules=[_write_rule(rule, names) for rule in rules.rules])


def render_document(document: RulesDocument) -> dict[str, Any]:
    """As JSON data, without the properties a condition does not test."""
    return {
        "rules": [render_rule(rule) for rule in document.rules],
        "default": document.default,
    }


def render_rule(rule: RuleDocument) -> dict[str, Any]:
    given: dict[str, Any] = msgspec.to_builtins(rule)
    when = _drop_nulls(given["when"])
    conditions = {} if when is None else {"when": when}
    return {
        "name": rule.name,
        "active": rule.active,
        **conditions,
        "target": given["target"],
    }


def list_names(document: RulesDocument) -> list[tuple[str, str]]:
    """Every workflow named, with the JSON pointer of its place."""
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


def _read_rule(rule: RuleDocument, ids: Mapping[str, UUID]) -> Rule:
    if isinstance(rule.target, str):
        return Rule(rule.name, ids[rule.target], rule.when, rule.active)
    shares = tuple(Share(ids[share.workflow], share.percent) for share in rule.target)
    return Rule(rule.name, shares, rule.when, rule.active)


def _write_rule(rule: Rule, names: Mapping[UUID, str]) -> RuleDocument:
    target: str | list[ShareDocument]
    if isinstance(rule.target, UUID):
        target = _name(rule.target, names)
    else:
        target = [
            ShareDocument(workflow=_name(share.workflow, names), percent=share.percent)
            for share in rule.target
        ]
    return RuleDocument(name=rule.name, target=target, when=rule.when, active=rule.active)


def _name(workflow_id: UUID, names: Mapping[UUID, str]) -> str:
    return names.get(workflow_id, str(workflow_id))


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_nulls(inner) for name, inner in value.items() if inner is not None}
    return value
