"""Preview a draft of the rules: compare which workflows it and the published rules would have given
to the claims of the last 30 days.

Amounts are those at the claim's creation, without payments and without fees of its workflow. Debtor
and contact data are the present ones. Nothing is written.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import MatchedClaim, find_matching_rule, match_default
from dunwell.cases.assignment.rulebook import Rulebook, load_rulebook_of_rules
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.store import FROM_THE_NEWEST, PastClaim, list_past_claims

MAX_EXAMPLES = 5
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RulesResult:
    """The workflow that a claim gets, and the rule that gives it. A workflow without a rule is the
    default; without both, the claim stays unassigned."""

    rule: str | None
    workflow_id: UUID | None


@dataclass(slots=True)
class AssignmentShift:
    """Claims with the same result before and the same result after."""

    before: RulesResult
    after: RulesResult
    claims: int = 0
    # Claim ids and reference numbers, newest first.
    examples: list[tuple[int, str]] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """True if the claims get another workflow. Another rule with the same workflow does not
        count."""
        return self.before.workflow_id != self.after.workflow_id


@dataclass(slots=True)
class AssignmentEffect:
    """The results of the counted claims, newest claims first."""

    claims: int = 0
    shifts: dict[tuple[RulesResult, RulesResult], AssignmentShift] = field(default_factory=dict)

    @property
    def moved(self) -> int:
        return sum(shift.claims for shift in self.shifts.values() if shift.moves)

    def list_shifts(self) -> list[AssignmentShift]:
        """Return the shifts to other workflows first, and the largest of each group first."""
        return sorted(self.shifts.values(), key=lambda shift: (not shift.moves, -shift.claims))

    def sum_workflows(self) -> dict[UUID | None, tuple[int, int]]:
        """Return the number of claims per workflow before and after, the largest first."""
        return self._sum(lambda result: result.workflow_id)

    def sum_rules(self) -> dict[str | None, tuple[int, int]]:
        """Return the number of claims per rule before and after. None stands for claims without a
        rule."""
        return self._sum(lambda result: result.rule)

    def _sum(self, key: Callable[[RulesResult], _Key]) -> dict[_Key, tuple[int, int]]:
        before, after = Counter[_Key](), Counter[_Key]()
        for shift in self.shifts.values():
            before[key(shift.before)] += shift.claims
            after[key(shift.after)] += shift.claims
        return {each: (before[each], after[each]) for each, _ in (before + after).most_common()}


def add_claims(
    effect: AssignmentEffect, claims: Iterable[PastClaim], before: Rulebook, after: Rulebook
) -> None:
    """Count the claims, keeping a few of each shift as examples."""
    for claim in claims:
        pair = (compute_assignment(before, claim.facts), compute_assignment(after, claim.facts))
        shift = effect.shifts.get(pair)
        if shift is None:
            shift = effect.shifts[pair] = AssignmentShift(*pair)
        effect.claims += 1
        shift.claims += 1
        if len(shift.examples) < MAX_EXAMPLES:
            assert claim.facts.claim_id is not None
            shift.examples.append((claim.facts.claim_id, claim.reference_number))


def compute_assignment(rulebook: Rulebook, facts: MatchedClaim) -> RulesResult:
    """Return the rule and the workflow of a claim. The result is that of `match_rules`, but this is
    fast enough for thousands of claims."""
    assert facts.claim_id is not None
    matched = find_matching_rule(
        rulebook.prepared, facts.conditions, facts.currency,
        targets=rulebook.targets, claim_id=facts.claim_id,
    )  # fmt: skip
    if matched is not None:
        return RulesResult(matched[0].name, matched[1])
    match = match_default(rulebook.rules, facts.currency, rulebook.targets)
    return RulesResult(None, match.workflow_id)


PREVIEW_PERIOD = timedelta(days=30)
PAGE_SIZE = 1_000


@dataclass(slots=True)
class RulesPreview:
    """A preview in progress. `next_id` is where counting continues, or None when all claims are
    counted."""

    before: Rulebook
    after: Rulebook
    since: datetime
    effect: AssignmentEffect = field(default_factory=AssignmentEffect)
    next_id: int | None = FROM_THE_NEWEST


async def start_rules_preview(work: Work, before: RuleSet, after: RuleSet) -> RulesPreview:
    """Start a preview without counting any claim."""
    work.require(Right.READ_CLAIMS)
    return RulesPreview(
        before=await load_rulebook_of_rules(work.tx, work.merchant, before, None),
        after=await load_rulebook_of_rules(work.tx, work.merchant, after, None),
        since=work.now - PREVIEW_PERIOD,
    )


async def continue_rules_preview(work: Work, preview: RulesPreview, limit: int) -> None:
    """Count at least `limit` more claims, in whole pages, unless the period has fewer. Other
    requests run between the pages."""
    work.require(Right.READ_CLAIMS)
    zone = ZoneInfo(work.merchant.configuration.timezone)
    target_count = preview.effect.claims + limit
    while preview.next_id is not None and preview.effect.claims < target_count:
        page = await list_past_claims(
            work.tx, work.merchant_id, zone,
            since=preview.since, from_id=preview.next_id, limit=PAGE_SIZE,
        )  # fmt: skip
        add_claims(preview.effect, page.claims, preview.before, preview.after)
        preview.next_id = page.next_id
