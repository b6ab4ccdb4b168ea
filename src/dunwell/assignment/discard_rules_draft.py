"""Discard the draft of a merchant's assignment rules; the published ones stay as they are."""

from dunwell.assignment.store import delete_draft
from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_changes import lock_merchant


async def discard_rules_draft(work: Work) -> None:
    """Raises InvalidState: there is no draft."""
    await lock_merchant(work.tx, work.merchant_id)
    if not await delete_draft(work.tx, work.merchant_id):
        raise InvalidState("The rules have no draft.", state="PUBLISHED")
    await save_audit(work, "assignment_rules.discard_draft", f"merchant:{work.merchant_id}")
