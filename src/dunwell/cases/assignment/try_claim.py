"""Try rules on a claim, one that is there or a made-up one: what it would get, and why.

Nothing is changed. Which rules, the published ones or the draft, is the rulebook's affair.
"""

from collections import Counter
from dataclasses import dataclass

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.hypothetical import HypotheticalClaim, find_facts
from dunwell.cases.assignment.matching import PLACES, Match, MatchedClaim, match_place, match_rules
from dunwell.cases.assignment.targets import Rulebook, find_today, load_claim_facts
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class Possibility:
    """What so many of a hundred such claims get."""

    percent: int
    match: Match


async def try_claim(
    work: Work, rulebook: Rulebook, claim: int | HypotheticalClaim
) -> tuple[Possibility, ...]:
    """One possibility; several for a claim without id that comes to a split, the largest first.

    `claim`: the id of one that is there, as it stands now, or a description. Raises NotFound.
    """
    work.need(Right.READ_CLAIMS)
    return list_possibilities(rulebook, await find_claim_facts(work, claim))


def list_possibilities(rulebook: Rulebook, facts: MatchedClaim) -> tuple[Possibility, ...]:
    """As `try_claim` says, of facts that are known."""
    if facts.claim_id is not None:
        match = match_rules(
            rulebook.rules,
            facts=facts.conditions,
            currency=facts.currency,
            targets=rulebook.targets,
            claim_id=facts.claim_id,
        )
        return (Possibility(PLACES, match),)
    counted = Counter(
        match_place(
            rulebook.rules,
            facts=facts.conditions,
            currency=facts.currency,
            targets=rulebook.targets,
            place=place,
        )
        for place in range(PLACES)
    )
    return tuple(Possibility(percent, match) for match, percent in counted.most_common())


async def find_claim_facts(work: Work, claim: int | HypotheticalClaim) -> MatchedClaim:
    """What rules ask of it. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    today = find_today(work)
    if isinstance(claim, HypotheticalClaim):
        return find_facts(claim, work.merchant.configuration.currency, today)
    found = await load_claim_facts(work.tx, work.merchant_id, claim, today)
    if found is None:
        raise NotFound(f"There is no claim {claim}.")
    return found
