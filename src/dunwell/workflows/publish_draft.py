"""Publish a workflow's draft: it becomes the current version and never changes again."""

from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_changes import raise_revision
from dunwell.workflows.store import (
    load_current,
    load_draft,
    lock_workflow,
    save_publication,
)
from dunwell.workflows.versions import Verdict, Version, find_next_number, find_verdict


async def publish_draft(work: Work, workflow_id: UUID, comment: str | None = None) -> Version:
    """Number the draft by what it changes (CONTRACT 6, Versions) and publish it.

    Raises NotFound (no such workflow) and InvalidState (no draft, or it changes nothing).
    """
    if not await lock_workflow(work.tx, work.merchant_id, workflow_id):
        raise NotFound(f"There is no workflow {workflow_id}.")
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None:
        raise InvalidState("The workflow has no draft; save one first.", state="PUBLISHED")
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    verdict = (
        Verdict.MAJOR if current is None else find_verdict(current.definition, draft.definition)
    )
    if verdict is Verdict.NONE:
        raise InvalidState(
            "The draft does not differ from the published version; change or discard it.",
            state="DRAFT",
        )
    number = find_next_number(current, verdict)
    version = Version(workflow_id, draft.version_id, *number, draft.definition)
    await save_publication(work.tx, work.merchant_id, version, work.now, comment)
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.publish", f"workflow:{workflow_id}",
        versionId=str(version.version_id), version=version.name, verdict=verdict,
    )  # fmt: skip
    return version
