"""What the assignment rules say of a claim: those that chose its process, or today's."""

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.matching import Match, match_rules
from dunwell.cases.assignment.store import load_rules_version
from dunwell.cases.assignment.targets import (
    Rulebook,
    find_today,
    load_claim_facts,
    load_rulebook,
    make_rulebook,
)
from dunwell.cases.assignment.wording import describe_default, describe_verdict
from dunwell.operations.explanation.records import Standing
from dunwell.operations.explanation.views import ExplainedRule, ExplainedRules


async def explain_rules(work: Work, standing: Standing) -> ExplainedRules:
    """Asked of the claim's facts as they are now, which may have changed since it was assigned."""
    rulebook = await _load_rulebook(work, standing)
    facts = await load_claim_facts(work.tx, work.merchant_id, standing.claim_id, find_today(work))
    assert facts is not None, "the claim was found in this snapshot"
    match = match_rules(
        rulebook.rules,
        facts.conditions,
        facts.currency,
        targets=rulebook.targets,
        claim_id=standing.claim_id,
    )
    return show_match(rulebook, match)


def show_match(rulebook: Rulebook, match: Match) -> ExplainedRules:
    return ExplainedRules(
        version=rulebook.version,
        rules=tuple(
            ExplainedRule(each.name, each.outcome.value, each.unmet, describe_verdict(each))
            for each in match.verdicts
        ),
        default=None if match.default is None else describe_default(match),
        chosen=rulebook.names[match.workflow_id] if match.workflow_id else None,
    )


async def _load_rulebook(work: Work, standing: Standing) -> Rulebook:
    if standing.rules_version is None:
        return await load_rulebook(work.tx, work.merchant)
    chosen_by = await load_rules_version(work.tx, work.merchant_id, standing.rules_version)
    assert chosen_by is not None, "published rules are never deleted"
    return await make_rulebook(work.tx, work.merchant, chosen_by.rules, chosen_by.version)
