"""Change one text of a workflow's draft: of two people who write at once, each for another channel
or in another language, both get through; of one text, neither's words are lost."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.change_workflow import open_workflow
from dunwell.core.workflows.drafts.draft_changes import find_last_change
from dunwell.core.workflows.drafts.edit_draft import Edit, EditedDraft, edit_draft
from dunwell.core.workflows.drafts.store import load_open_changes
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.text_places import Place, Written, put_text, read_part, read_text
from dunwell.platform.errors import EditConflict, InvalidState
from dunwell.platform.text.differences import compute_revision


async def edit_text(
    work: Work, workflow_id: UUID, place: Place, written: Written | None, *, seen: str
) -> EditedDraft:
    """written: None takes the text out. seen: what `compute_revision` says of it as its writer
    had seen it. Raises EditConflict, and what `edit_draft` raises."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    newest = draft or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise InvalidState("The workflow has neither a draft nor a version.", state="EMPTY")
    definition = newest.definition
    theirs = read_text(definition, place)
    # Who wants what stands there already has lost nothing.
    if seen != compute_revision(theirs) and theirs != written:
        changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
        raise EditConflict(
            "The text was changed since it was read. Look at it as it is, bring your words in and "
            "save again.",
            part=place.part,
            current=theirs,
            change=find_last_change(changes, place.part),
        )
    wanted = read_part(put_text(definition, place, written), place)
    known = compute_revision(read_part(definition, place))
    return await edit_draft(work, workflow_id, Edit(place.part, known, wanted))
