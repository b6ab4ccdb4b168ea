"""Find rules that overlap: an earlier rule takes claims that a later one would take. A sample claim
proves each overlap (CONTRACT 8). Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import accumulate, combinations
from typing import Any
from uuid import UUID

from dunwell.cases.assignment.matching import SPLIT_POSITIONS, RuleTarget, choose_target
from dunwell.cases.assignment.rules import Rule, RuleSet, list_shares
from dunwell.core.claims.conditions import (
    ConditionFacts,
    list_unmet,
    list_values,
    matches_text,
    parse_bounds,
)
from dunwell.core.workflows.definition import Condition, IntegerBounds, TextTest


def implies(strict: Condition | None, lax: Condition | None) -> bool:
    """Return whether every claim that meets `strict` also meets `lax`. None is a condition that
    every claim meets."""
    if lax is None:
        return True
    strict = strict or Condition()
    return all(
        _is_implied(name, getattr(strict, name), lax_test, strict)
        for name in Condition.__struct_fields__
        if (lax_test := getattr(lax, name)) is not None
    )


def _is_implied(name: str, strict_test: Any, lax_test: Any, strict: Condition) -> bool:
    if name == "has":
        return set(lax_test) <= _list_present(strict)
    if name == "item_type" and "PRIMARY" in list_values(lax_test):
        return True  # Each claim has a PRIMARY item.
    if strict_test is None:
        return False
    return _COMPARISONS[name](strict_test, lax_test)


def _list_present(condition: Condition) -> set[str]:
    """Return what each claim that meets the condition must have. A test of a text requires the
    text."""
    present: set[str] = set(condition.has or [])
    if condition.email is not None:
        present.add("email")
    if condition.mobile_number is not None:
        present.add("mobileNumber")
    return present


def _is_narrower_range(strict: IntegerBounds, lax: IntegerBounds) -> bool:
    low, high = parse_bounds(strict)
    lax_low, lax_high = parse_bounds(lax)
    return (lax_low is None or (low is not None and low >= lax_low)) and (
        lax_high is None or (high is not None and high <= lax_high)
    )


def _is_subset(strict: str | list[str], lax: str | list[str]) -> bool:
    return set(list_values(strict)) <= set(list_values(lax))


def _is_narrower_text(strict: TextTest, lax: TextTest) -> bool:
    if strict.equals is not None:
        return matches_text(lax, strict.equals)
    starts, ends = strict.starts_with or "", strict.ends_with or ""
    return (
        lax.equals is None
        and starts.startswith(lax.starts_with or "")
        and ends.endswith(lax.ends_with or "")
    )


def _is_narrower_mapping(strict: dict[str, str], lax: dict[str, str]) -> bool:
    return lax.items() <= strict.items()


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "outstanding": _is_narrower_range,
    "total": _is_narrower_range,
    "age": _is_narrower_range,
    "primary_age_days": _is_narrower_range,
    "country": _is_subset,
    "language": _is_subset,
    "item_type": _is_subset,
    "email": _is_narrower_text,
    "mobile_number": _is_narrower_text,
    "city": _is_narrower_text,
    "postal_code": _is_narrower_text,
    "custom_fields": _is_narrower_mapping,
}


# Any day works: ages and numbers of days are counted back from it.
_TODAY = date(2026, 1, 1)
_MAX_AGE_YEARS = 150


def find_common_facts(first: Condition | None, second: Condition | None) -> ConditionFacts | None:
    """Return the facts of a sample claim that meets both conditions, or None if there is none or
    the search does not find one."""
    conditions = [condition for condition in (first, second) if condition is not None]
    outstanding = _compute_lower_bound([c.outstanding for c in conditions], at_least=1)
    age = _compute_lower_bound([c.age for c in conditions])
    days = _compute_lower_bound([c.primary_age_days for c in conditions])
    facts = ConditionFacts(
        outstanding_cents=outstanding,
        total_cents=_compute_lower_bound([c.total for c in conditions], at_least=outstanding),
        today=_TODAY,
        first_primary_on=_TODAY - timedelta(days=days),
        item_types=frozenset(
            {"PRIMARY", *(list_values(c.item_type)[0] for c in conditions if c.item_type)}
        ),
        date_of_birth=None if age > _MAX_AGE_YEARS else _TODAY.replace(year=_TODAY.year - age),
        language=_find_common_value([c.language for c in conditions]),
        country=_find_common_value([c.country for c in conditions]),
        city=_build_text([c.city for c in conditions]),
        postal_code=_build_text([c.postal_code for c in conditions]),
        email=_build_text([c.email for c in conditions]),
        mobile_number=_build_text([c.mobile_number for c in conditions]),
        has_address=True,
        custom_fields=_merge_custom_fields([c.custom_fields for c in conditions]),
    )
    return None if any(list_unmet(each, facts) for each in conditions) else facts


def _compute_lower_bound(tests: list[IntegerBounds | None], at_least: int = 0) -> int:
    """Return the smallest value that satisfies all lower bounds."""
    lows = [parse_bounds(test)[0] for test in tests if test is not None]
    return max([at_least, *(low for low in lows if low is not None)])


def _find_common_value(tests: list[str | list[str] | None]) -> str | None:
    """Return a value that is in all lists, or None."""
    lists = [list_values(test) for test in tests if test is not None]
    return next((v for v in lists[0] if all(v in each for each in lists)), None) if lists else None


def _build_text(tests: list[TextTest | None]) -> str:
    """Build a text with the longest required beginning and end."""
    given_tests = [test for test in tests if test is not None]
    for test in given_tests:
        if test.equals is not None:
            return test.equals
    starts = max((test.starts_with or "" for test in given_tests), key=len, default="")
    ends = max((test.ends_with or "" for test in given_tests), key=len, default="")
    return starts + ends


def _merge_custom_fields(tests: list[dict[str, str] | None]) -> Mapping[str, str]:
    fields: dict[str, Any] = {}
    for test in tests:
        fields |= test or {}
    return fields


class OverlapExtent(StrEnum):
    # The later rule can never match.
    ALL = "ALL"
    # Some claims meet both.
    SOME = "SOME"


@dataclass(frozen=True, slots=True)
class Overlap:
    """The rule `earlier` takes all or some of the claims that the rule `later` would take."""

    earlier: str
    later: str
    extent: OverlapExtent


def list_overlaps(rules: RuleSet, targets: Mapping[UUID, RuleTarget]) -> tuple[Overlap, ...]:
    """Return the overlapping pairs of active rules, in order. Rules with the same workflow count
    only if the later one can never match."""
    active = [rule for rule in rules.rules if rule.active]
    overlaps = (_compare(earlier, later, targets) for earlier, later in combinations(active, 2))
    return tuple(overlap for overlap in overlaps if overlap is not None)


def list_overlaps_of_rule(
    rule: Rule, rules: RuleSet, targets: Mapping[UUID, RuleTarget]
) -> tuple[Overlap, ...]:
    """Return the overlaps of one of the rules with the others."""
    position = rules.rules.index(rule)
    if not rule.active:
        return ()
    pairs = [(each, rule) for each in rules.rules[:position] if each.active]
    pairs += [(rule, each) for each in rules.rules[position + 1 :] if each.active]
    overlaps = (_compare(earlier, later, targets) for earlier, later in pairs)
    return tuple(overlap for overlap in overlaps if overlap is not None)


def _compare(earlier: Rule, later: Rule, targets: Mapping[UUID, RuleTarget]) -> Overlap | None:
    """Compare two rules. A rule takes a claim only if the workflow at the claim's split position
    accepts its currency. Two rules therefore overlap if both workflows accept the same currency at
    some position."""
    pairs = list(_list_pairs(earlier, later))
    currencies = [
        (_find_currency(first, targets), _find_currency(second, targets)) for first, second in pairs
    ]
    is_shared = [first is not None and first == second for first, second in currencies]
    if not any(is_shared) or find_common_facts(earlier.when, later.when) is None:
        return None
    # Positions at which the later rule takes no claim do not count.
    is_taken = [second is not None for _, second in currencies]
    if implies(later.when, earlier.when) and is_shared == is_taken:
        return Overlap(earlier.name, later.name, OverlapExtent.ALL)
    if all(first == second for first, second in pairs):
        return None
    return Overlap(earlier.name, later.name, OverlapExtent.SOME)


def _list_pairs(earlier: Rule, later: Rule) -> Iterator[tuple[UUID, UUID]]:
    """Yield the workflows of both rules, once for each range of split positions with the same
    workflows."""
    starts = {0}
    for rule in (earlier, later):
        starts.update(accumulate(share.percent for share in list_shares(rule)))
    for position in sorted(starts - {SPLIT_POSITIONS}):
        yield choose_target(earlier, position), choose_target(later, position)


def _find_currency(workflow_id: UUID, targets: Mapping[UUID, RuleTarget]) -> str | None:
    target = targets.get(workflow_id)
    return None if target is None else target.currency
