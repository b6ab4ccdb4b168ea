"""A merchant's assignment rules as stored (CONTRACT 8).

Workflows are named by their ids here, so that renaming one changes no rule; `document` is the same
with names, as people write it. Pure.
"""

from uuid import UUID

import msgspec

from dunwell.core.workflows.definition import Condition


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Share(_Part, frozen=True):
    """So many of a hundred claims get the workflow."""

    workflow: UUID
    percent: int


class Rule(_Part, frozen=True):
    """Claims that meet `when` (none: all) get the target; the shares of a split sum to 100."""

    name: str
    target: UUID | tuple[Share, ...]
    when: Condition | None = None
    active: bool = True


class RuleSet(_Part, frozen=True):
    """The first active rule that matches wins; no default: what none matches stays unassigned."""

    default: UUID | None = None
    rules: tuple[Rule, ...] = ()


def list_shares(rule: Rule) -> tuple[Share, ...]:
    """A rule's target as shares; a single workflow has all of it."""
    target = rule.target
    return (Share(target, 100),) if isinstance(target, UUID) else target


def list_targets(rules: RuleSet) -> list[UUID]:
    """Every workflow the rules point to, inactive rules and the default included, each once."""
    targets = [share.workflow for rule in rules.rules for share in list_shares(rule)]
    if rules.default is not None:
        targets.append(rules.default)
    return list(dict.fromkeys(targets))


def is_split(rules: RuleSet) -> bool:
    """Whether a claim's id can decide what it gets."""
    return any(rule.active and len(list_shares(rule)) > 1 for rule in rules.rules)
