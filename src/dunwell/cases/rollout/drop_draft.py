"""Discard a workflow's draft; a workflow that was never published goes with it (spec, States)."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import raise_revision
from dunwell.cases.rollout.store import load_rule_sets
from dunwell.cases.rollout.uses import describe_rules
from dunwell.core.workflows.change_workflow import open_workflow
from dunwell.core.workflows.drafts.edit_draft import discard_draft
from dunwell.core.workflows.store import load_current, load_draft, load_name, remove_workflow
from dunwell.core.workflows.versions.parts import list_parts
from dunwell.platform.errors import InvalidState


async def drop_draft(work: Work, workflow_id: UUID, *, expected_id: UUID | None = None) -> bool:
    """Whether the workflow is gone with it. expected_id: the draft that was looked at, and no
    other. Raises NotFound and InvalidState (no draft or another one, or rules point at a workflow
    that would be gone)."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    await _check_expected(work, workflow_id, expected_id)
    if await load_current(work.tx, work.merchant_id, workflow_id) is not None:
        await discard_draft(work, workflow_id)
        return False
    rule_sets = await load_rule_sets(work.tx, work.merchant_id)
    pointing = list(describe_rules(rule_sets, workflow_id))
    if pointing:
        raise InvalidState(
            f"The workflow would go with its only draft, and is in use: {'; '.join(pointing)}.",
            state="IN_USE",
        )
    name = await load_name(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    await remove_workflow(work.tx, work.merchant_id, workflow_id)
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.discard_draft", f"workflow:{workflow_id}",
        before={"name": name, **list_parts(draft.definition if draft else None)}, isRemoved=True,
    )  # fmt: skip
    return True


async def _check_expected(work: Work, workflow_id: UUID, expected_id: UUID | None) -> None:
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if expected_id is not None and draft is not None and draft.version_id != expected_id:
        message = "The draft was changed since it was looked at. Look at it again."
        raise InvalidState(message, state="DRAFT")
