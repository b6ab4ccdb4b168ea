"""Publish the draft of a merchant's assignment rules (CONTRACT 8)."""

from dataclasses import dataclass

from dunwell.assignment.publish_rules import publish_rules
from dunwell.assignment.review import Review, review_rules
from dunwell.assignment.store import delete_draft, load_published_rules, load_rules_draft
from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.store_changes import lock_merchant


@dataclass(frozen=True, slots=True)
class RulesPublication:
    version: int
    # Against the rules that ruled until now.
    review: Review


async def publish_rules_draft(work: Work) -> RulesPublication:
    """Raises InvalidState (no draft, or it changes nothing) and ValidationError (its targets)."""
    await lock_merchant(work.tx, work.merchant_id)
    draft = await load_rules_draft(work.tx, work.merchant_id)
    if draft is None:
        raise InvalidState("The rules have no draft; save one first.", state="PUBLISHED")
    published = await load_published_rules(work.tx, work.merchant_id)
    if published is not None and published.rules == draft.rules:
        message = "The draft does not differ from the published rules; change or discard it."
        raise InvalidState(message, state="DRAFT")
    review = await review_rules(work, draft.rules)
    version = await publish_rules(work, draft.rules)
    await delete_draft(work.tx, work.merchant_id)
    return RulesPublication(version, review)
