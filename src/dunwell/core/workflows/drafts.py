"""Make a new draft from the latest published version, or discard it (spec, Workflow version).

A workflow that was never published goes with its draft: `rollout.drop_draft` sees to that.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.audited import compare
from dunwell.core.workflows.open_workflow import open_workflow
from dunwell.core.workflows.store import delete_draft, load_current, load_draft, save_draft_row
from dunwell.core.workflows.store_draft_changes import delete_open_changes
from dunwell.core.workflows.versions import Draft
from dunwell.platform.errors import InvalidState


async def new_draft(work: Work, workflow_id: UUID) -> Draft:
    """Raises NotFound, and InvalidState: there is a draft, which names its id."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    standing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if standing is not None or current is None:
        named = "" if standing is None else f" ({standing.version_id})"
        raise InvalidState(
            f"The workflow has a draft already{named}; go on with it, or discard it first.",
            state="DRAFT",
        )
    draft = Draft(work.ids.new(work.now), current.definition)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft=draft, now=work.now)
    await save_audit(
        work, "workflow.new_draft", f"workflow:{workflow_id}",
        before={"draft": None}, after={"draft": str(draft.version_id)},
        versionId=str(draft.version_id), basedOn=str(current.version_id),
    )  # fmt: skip
    return draft


async def discard_draft(work: Work, workflow_id: UUID) -> None:
    """Versions stay as they are. Raises NotFound, and InvalidState: no draft, or no version that
    would be left."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    if await load_current(work.tx, work.merchant_id, workflow_id) is None:
        raise InvalidState("The workflow has no published version; publish it.", state="DRAFT")
    await delete_standing_draft(work, workflow_id)


async def delete_standing_draft(work: Work, workflow_id: UUID) -> None:
    """Of an open workflow that was published; what differed from that is told. Raises InvalidState:
    there is none."""
    work.need(Right.CONFIGURE)
    standing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if standing is None or current is None:
        raise InvalidState("The workflow has no draft.", state="PUBLISHED")
    await delete_draft(work.tx, work.merchant_id, workflow_id)
    await delete_open_changes(work.tx, work.merchant_id, workflow_id)
    before, after = compare(standing.definition, current.definition)
    await save_audit(
        work, "workflow.discard_draft", f"workflow:{workflow_id}",
        before={"draft": str(standing.version_id), **before}, after={"draft": None, **after},
    )  # fmt: skip
