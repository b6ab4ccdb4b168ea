"""What rules would have done to claims beside what other rules would have: counted by what
claims get and what they would get. It reads and writes nothing.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from dunwell.cases.assignment.matching import MatchedClaim, find_winner, match_default
from dunwell.cases.assignment.targets import Rulebook

MOST_EXAMPLES = 5
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PastClaim:
    """A claim as it was when it was created."""

    facts: MatchedClaim
    reference_number: str


@dataclass(frozen=True, slots=True)
class GivenWorkflow:
    """What a claim gets. No rule but a workflow: the default; neither: it stays unassigned."""

    rule: str | None
    workflow_id: UUID | None


@dataclass(slots=True)
class Flow:
    """Claims that get one thing now and would get one thing then."""

    before: GivenWorkflow
    after: GivenWorkflow
    claims: int = 0
    # Ids and references, the newest first.
    examples: list[tuple[int, str]] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """To another workflow; by another rule to the same is none."""
        return self.before.workflow_id != self.after.workflow_id


@dataclass(slots=True)
class Effect:
    """Of the claims that were looked at, the newest first."""

    claims: int = 0
    flows: dict[tuple[GivenWorkflow, GivenWorkflow], Flow] = field(default_factory=dict)

    @property
    def moved(self) -> int:
        return sum(flow.claims for flow in self.flows.values() if flow.moves)

    def list_flows(self) -> list[Flow]:
        """Those that move claims first, the largest of each first."""
        return sorted(self.flows.values(), key=lambda flow: (not flow.moves, -flow.claims))

    def sum_workflows(self) -> dict[UUID | None, tuple[int, int]]:
        """Claims by workflow, before and after; the largest first."""
        return self._sum(lambda given: given.workflow_id)

    def sum_rules(self) -> dict[str | None, tuple[int, int]]:
        """Claims by rule, before and after; none: by no rule."""
        return self._sum(lambda given: given.rule)

    def _sum(self, key: Callable[[GivenWorkflow], _Key]) -> dict[_Key, tuple[int, int]]:
        before, after = Counter[_Key](), Counter[_Key]()
        for flow in self.flows.values():
            before[key(flow.before)] += flow.claims
            after[key(flow.after)] += flow.claims
        return {each: (before[each], after[each]) for each, _ in (before + after).most_common()}


def add_claims(
    effect: Effect, claims: Iterable[PastClaim], before: Rulebook, after: Rulebook
) -> None:
    """Count them in, with a few of each flow as examples."""
    for claim in claims:
        pair = (find_given(before, claim.facts), find_given(after, claim.facts))
        flow = effect.flows.get(pair)
        if flow is None:
            flow = effect.flows[pair] = Flow(*pair)
        effect.claims += 1
        flow.claims += 1
        if len(flow.examples) < MOST_EXAMPLES:
            assert claim.facts.claim_id is not None
            flow.examples.append((claim.facts.claim_id, claim.reference_number))


def find_given(rulebook: Rulebook, facts: MatchedClaim) -> GivenWorkflow:
    """As `match_rules` says, for claims by the thousand."""
    assert facts.claim_id is not None
    won = find_winner(
        rulebook.prepared, facts.conditions, facts.currency,
        targets=rulebook.targets, claim_id=facts.claim_id,
    )  # fmt: skip
    if won is not None:
        return GivenWorkflow(won[0].name, won[1])
    match = match_default(rulebook.rules, facts.currency, rulebook.targets)
    return GivenWorkflow(None, match.workflow_id)
