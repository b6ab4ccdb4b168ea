"""Keep who changed what in a draft: the one way by which a draft's definition is stored."""

from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.audited import compare
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.draft_changes import merge_changes
from dunwell.core.workflows.store import save_draft_row
from dunwell.core.workflows.store_draft_changes import load_open_changes, save_merged
from dunwell.core.workflows.versions import Draft, Version

Parts = dict[str, Any]


async def store_changed_draft(
    work: Work, workflow_id: UUID, former: Version | Draft | None, wanted: Definition
) -> tuple[Draft, Parts, Parts]:
    """Put `wanted` in the place of what the draft was made from, as the actor's change. Answers the
    new draft, and the parts that differ as they were and are, for the audit log. The workflow is
    locked."""
    work.need(Right.CONFIGURE)
    before, after = compare(former.definition if former else None, wanted)
    draft = Draft(work.ids.new(work.now), wanted)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft=draft, now=work.now)
    standing = await load_open_changes(work.tx, work.merchant_id, workflow_id)
    merged = merge_changes(
        standing, str(work.actor.kind), actor_id=work.actor.actor_id, before=before, after=after
    )
    await save_merged(
        work.tx, work.merchant_id, workflow_id,
        merged=merged, ids=[work.ids.new(work.now) for _ in merged.new],
        now=work.now,
    )  # fmt: skip
    return draft, before, after
