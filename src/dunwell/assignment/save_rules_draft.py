"""Save the draft of a merchant's assignment rules; the published ones go on ruling."""

from dunwell.assignment.checking import find_unknown_names
from dunwell.assignment.document import RulesDocument, resolve_names
from dunwell.assignment.review import Review, review_rules
from dunwell.assignment.store import load_targets, save_draft
from dunwell.errors import ValidationError
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_changes import lock_merchant


async def save_rules_draft(work: Work, document: RulesDocument) -> Review:
    """Store `document`, which has been checked (`checking.check_rules`), as the one draft.

    Raises ValidationError: it names workflows that are not there.
    """
    # Whoever publishes the draft before deletes no other.
    await lock_merchant(work.tx, work.merchant_id)
    targets = await load_targets(work.tx, work.merchant_id)
    ids = {row.name: row.workflow_id for row in targets.values() if not row.is_deleted}
    faults = list(find_unknown_names(document, ids))
    if faults:
        raise ValidationError(faults)
    rules = resolve_names(document, ids)
    await save_draft(work.tx, work.merchant_id, rules, work.now)
    await save_audit(
        work, "assignment_rules.save_draft", f"merchant:{work.merchant_id}",
        rules=len(rules.rules),
    )  # fmt: skip
    return await review_rules(work, rules)
