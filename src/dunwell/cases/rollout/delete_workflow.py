"""Delete a workflow that nothing uses, or discard its draft (CONTRACT 6)."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import increment_revision, lock_merchant
from dunwell.cases.rollout.store import count_active_claims, load_rule_sets
from dunwell.cases.rollout.uses import describe_claims, describe_rules, describe_scenario
from dunwell.core.workflows.change_workflow import check_uses_workflows, lock_workflow_for_change
from dunwell.core.workflows.drafts.edit_draft import discard_draft
from dunwell.core.workflows.drafts.store import delete_open_changes
from dunwell.core.workflows.scenarios.store import find_scenario_id
from dunwell.core.workflows.store import (
    delete_draft,
    delete_workflow_row,
    load_current,
    load_draft,
    load_workflow_name,
    lock_for_deletion,
    mark_deleted,
)
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.platform.errors import InvalidState, NotFound


async def discard_draft_or_workflow(
    work: Work, workflow_id: UUID, *, expected_id: UUID | None = None
) -> bool:
    """Discard the draft. If the workflow was never published, delete the workflow as well. Return
    whether the workflow was deleted.

    `expected_id` is the draft that the user saw. Raises NotFound, and InvalidState if there is no
    draft, if it is not the expected one, or if rules refer to the workflow that would be deleted.
    """
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    await _check_expected(work, workflow_id, expected_id)
    if await load_current(work.tx, work.merchant_id, workflow_id) is not None:
        await discard_draft(work, workflow_id)
        return False
    rule_sets = await load_rule_sets(work.tx, work.merchant_id)
    referring_rules = list(describe_rules(rule_sets, workflow_id))
    if referring_rules:
        raise InvalidState(
            "Discarding its only draft would delete the workflow, which is in use: "
            f"{'; '.join(referring_rules)}.",
            state="IN_USE",
        )
    name = await load_workflow_name(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    await delete_workflow_row(work.tx, work.merchant_id, workflow_id)
    await increment_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.discard_draft", f"workflow:{workflow_id}",
        before={"name": name, **list_parts(draft.definition if draft else None)}, isRemoved=True,
    )  # fmt: skip
    return True


async def _check_expected(work: Work, workflow_id: UUID, expected_id: UUID | None) -> None:
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if expected_id is not None and draft is not None and draft.version_id != expected_id:
        message = "The draft was changed in the meantime. Review it again."
        raise InvalidState(message, state="DRAFT")


async def delete_workflow(work: Work, workflow_id: UUID) -> None:
    """Delete a workflow. Raises NotFound, and InvalidState with everything that uses it.

    1. Lock the merchant's row and the workflow. This waits for assignments in progress.
    2. List its uses. A later assignment finds it deleted.
    3. Mark it as deleted, and delete its draft.
    """
    work.require(Right.CONFIGURE)
    check_uses_workflows(work.merchant)
    await lock_merchant(work.tx, work.merchant_id)
    if not await lock_for_deletion(work.tx, work.merchant_id, workflow_id):
        raise NotFound(f"There is no workflow {workflow_id}.")
    uses = await list_uses(work, workflow_id)
    if uses:
        raise InvalidState(f"The workflow is in use: {'; '.join(uses)}.", state="IN_USE")
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    name = await load_workflow_name(work.tx, work.merchant_id, workflow_id)
    await delete_draft(work.tx, work.merchant_id, workflow_id)
    await delete_open_changes(work.tx, work.merchant_id, workflow_id)
    await mark_deleted(work.tx, work.merchant_id, workflow_id, work.now)
    await increment_revision(work.tx, work.merchant_id)
    before = {
        "name": name, "version": current and current.name,
        "draft": draft and str(draft.version_id),
    }  # fmt: skip
    await save_audit(work, "workflow.delete", f"workflow:{workflow_id}", before=before)


async def list_uses(work: Work, workflow_id: UUID) -> list[str]:
    """Return a line for each use that prevents the workflow from being deleted."""
    active = await count_active_claims(work.tx, work.merchant_id, workflow_id)
    scenario_id = await find_scenario_id(work.tx, work.merchant_id, workflow_id)
    return [
        *describe_claims(active.get(workflow_id, {})),
        *describe_rules(await load_rule_sets(work.tx, work.merchant_id), workflow_id),
        *describe_scenario(scenario_id),
    ]
