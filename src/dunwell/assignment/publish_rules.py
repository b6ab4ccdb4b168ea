"""Publish a merchant's assignment rules; claims created from then on follow them."""

from uuid import UUID

from dunwell.assignment.rules import RuleSet
from dunwell.assignment.store import save_rules
from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_changes import lock_merchant, raise_revision
from dunwell.workflows.store import load_assignability


async def publish_rules(work: Work, rules: RuleSet) -> None:
    """Raises NotFound: the default is none of the merchant's workflows."""
    await lock_merchant(work.tx, work.merchant_id)
    target = rules.default
    if target is not None and not await _exists(work, target):
        raise NotFound(f"There is no workflow {target}.")
    version = await save_rules(work.tx, work.merchant_id, rules, work.now)
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "assignment_rules.publish", f"assignment_rules:{version}",
        default=None if target is None else str(target),
    )  # fmt: skip


async def _exists(work: Work, workflow_id: UUID) -> bool:
    return await load_assignability(work.tx, work.merchant_id, workflow_id) is not None
