"""Where each submitted claim starts: the workflow that the rules give it, its first step, and when.

Pure but for the ids, which are drawn beforehand when splits ask for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.assignment.matching import choose_workflow, match_default, match_rules
from dunwell.assignment.targets import Rulebook, find_today
from dunwell.escalation.schedule import first_due
from dunwell.intake.rows import UNASSIGNED, StartRow
from dunwell.intake.submission import ClaimSubmission
from dunwell.intake.submitted_facts import SubmittedFacts
from dunwell.kit.process import Turns
from dunwell.merchants.account import Work

# Rides on nothing: a sequence.
_DRAW_IDS = """
SELECT nextval('claims_claim_id_seq') AS claim_id
FROM generate_series(1, $1)
"""
# No split asks for it.
_NO_ID = 0


@dataclass(frozen=True, slots=True)
class Start:
    """What a claim gets. The id is set if it was drawn beforehand."""

    row: StartRow
    claim_id: int | None = None
    # Unassigned, as the workflow it would have got takes another currency.
    is_other_currency: bool = False


async def decide_starts(
    work: Work, rulebook: Rulebook, claims: Mapping[int, ClaimSubmission]
) -> dict[int, Start]:
    """Match each claim, by its number. One statement if the rules have a split, else none."""
    ids: Sequence[int | None] = [None] * len(claims)
    if rulebook.is_split:
        ids = [row["claim_id"] for row in await work.tx.fetch(_DRAW_IDS, len(claims))]
    today = find_today(work)
    starts, turns = {}, Turns()
    for (n, claim), claim_id in zip(claims.items(), ids, strict=True):
        starts[n] = _decide(work, rulebook, claim, claim_id, today)
        await turns.give_way()
    return starts


def _decide(
    work: Work, rulebook: Rulebook, claim: ClaimSubmission, claim_id: int | None, today: date
) -> Start:
    workflow_id = _choose(rulebook, claim, claim_id, today)
    if workflow_id is None:
        is_other = _is_other_currency(rulebook, claim, claim_id, today)
        return Start(UNASSIGNED, claim_id, is_other)
    version = rulebook.versions[workflow_id]
    timezone = work.merchant.configuration.timezone
    row = StartRow(
        workflow_id=version.workflow_id,
        workflow_major=version.major,
        next_step_id=version.definition.steps[0].id,
        due_at=first_due(version.definition, timezone, claim.first_primary_due_on, work.now),
    )
    return Start(row, claim_id)


def _choose(
    rulebook: Rulebook, claim: ClaimSubmission, claim_id: int | None, today: date
) -> UUID | None:
    if rulebook.prepared:
        chosen = choose_workflow(
            rulebook.prepared, SubmittedFacts(claim, today), claim.currency, rulebook.targets,
            _NO_ID if claim_id is None else claim_id,
        )  # fmt: skip
        if chosen is not None:
            return chosen
    return match_default(rulebook.rules, claim.currency, rulebook.targets).workflow_id


def _is_other_currency(
    rulebook: Rulebook, claim: ClaimSubmission, claim_id: int | None, today: date
) -> bool:
    """Whether the currency is why a claim stays unassigned."""
    if not any(target.currency != claim.currency for target in rulebook.targets.values()):
        return False
    match = match_rules(
        rulebook.rules, SubmittedFacts(claim, today), claim.currency, rulebook.targets,
        _NO_ID if claim_id is None else claim_id,
    )  # fmt: skip
    return match.is_other_currency
