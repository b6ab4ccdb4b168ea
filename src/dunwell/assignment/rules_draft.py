"""The draft of a merchant's assignment rules (CONTRACT 8): saved, published or discarded; what is
published goes on ruling until then.
"""

from dataclasses import dataclass
from typing import Any

from dunwell.assignment.checking import find_unknown_names
from dunwell.assignment.document import RulesDocument, resolve_names
from dunwell.assignment.publish_rules import list_values, publish_rules
from dunwell.assignment.review import Review, review_rules
from dunwell.assignment.rules import RuleSet
from dunwell.assignment.store import (
    RulesDraft,
    delete_draft,
    load_published_rules,
    load_rules_draft,
    load_targets,
    save_draft,
)
from dunwell.errors import InvalidState, ValidationError
from dunwell.merchants.account import Work
from dunwell.merchants.audit import keep_changed, save_audit
from dunwell.merchants.rights import Right
from dunwell.merchants.store_changes import lock_merchant


@dataclass(frozen=True, slots=True)
class RulesPublication:
    version: int
    # Against the rules that ruled until now.
    review: Review


async def save_rules_draft(work: Work, document: RulesDocument) -> Review:
    """Store `document`, which has been checked (`checking.check_rules`), as the one draft.

    Raises ValidationError: it names workflows that are not there.
    """
    work.need(Right.CONFIGURE)
    # Whoever publishes the draft before deletes no other.
    await lock_merchant(work.tx, work.merchant_id)
    targets = await load_targets(work.tx, work.merchant_id)
    ids = {row.name: row.workflow_id for row in targets.values() if not row.is_deleted}
    faults = list(find_unknown_names(document, ids))
    if faults:
        raise ValidationError(faults)
    rules = resolve_names(document, ids)
    standing = await load_rules_draft(work.tx, work.merchant_id)
    await save_draft(work.tx, work.merchant_id, rules, work.now)
    was, now = await _compare(work, standing, rules)
    await save_audit(
        work, "assignment_rules.save_draft", f"merchant:{work.merchant_id}",
        before=was, after=now, rules=len(rules.rules),
    )  # fmt: skip
    return await review_rules(work, rules)


async def publish_rules_draft(work: Work) -> RulesPublication:
    """Raises InvalidState (no draft, or it changes nothing) and ValidationError (its targets)."""
    work.need(Right.PUBLISH)
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


async def discard_rules_draft(work: Work) -> None:
    """Raises InvalidState: there is no draft."""
    work.need(Right.CONFIGURE)
    await lock_merchant(work.tx, work.merchant_id)
    standing = await load_rules_draft(work.tx, work.merchant_id)
    if standing is None:
        raise InvalidState("The rules have no draft.", state="PUBLISHED")
    await delete_draft(work.tx, work.merchant_id)
    # What rules from then on is what has ruled all along.
    was, now = await _compare(work, None, standing.rules)
    await save_audit(
        work, "assignment_rules.discard_draft", f"merchant:{work.merchant_id}",
        before={"draft": True, **now}, after={"draft": False, **was},
    )  # fmt: skip


async def _compare(
    work: Work, standing: RulesDraft | None, rules: RuleSet
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What differs from the draft there is, or, without one, from the rules that are published."""
    published = None if standing else await load_published_rules(work.tx, work.merchant_id)
    former = standing or published
    return keep_changed(list_values(former.rules) if former else {}, list_values(rules))
