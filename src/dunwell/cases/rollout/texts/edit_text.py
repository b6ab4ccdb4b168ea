"""Change one text of a workflow's draft: of two people who write at once, each for another channel
or in another language, both get through; of one text, neither's words are lost."""

from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.draft_changes import DraftChange, find_last_change
from dunwell.core.workflows.edit_draft import Edit, EditedDraft, edit_draft
from dunwell.core.workflows.open_workflow import open_workflow
from dunwell.core.workflows.parts import fingerprint
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.store_draft_changes import load_open_changes
from dunwell.core.workflows.text_places import Place, Written, put_text, read_part, read_text
from dunwell.platform.errors import InvalidState


class TextOvertaken(InvalidState):
    """Somebody else has changed the text since; nothing was saved."""

    def __init__(self, theirs: Written | None, change: DraftChange | None) -> None:
        super().__init__(
            "The text was changed since it was read. Look at it as it is, bring your words in and "
            "save again.",
            state="CHANGED",
        )
        # As it stands; None: it is not there.
        self.theirs = theirs
        # Who changed its template or snippet last; None: the draft it stood in is no more.
        self.change = change


async def edit_text(
    work: Work, workflow_id: UUID, place: Place, written: Written | None, *, seen: str
) -> EditedDraft:
    """written: None takes the text out. seen: what `fingerprint_text` says of it as its writer had
    seen it. Raises TextOvertaken, and what `edit_draft` raises."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    newest = draft or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise InvalidState("The workflow has neither a draft nor a version.", state="EMPTY")
    definition = newest.definition
    theirs = read_text(definition, place)
    # Who wants what stands there already has lost nothing.
    if seen != fingerprint_text(theirs) and theirs != written:
        changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
        raise TextOvertaken(theirs, find_last_change(changes, place.part))
    wanted = read_part(put_text(definition, place, written), place)
    known = fingerprint(read_part(definition, place))
    return await edit_draft(work, workflow_id, Edit(place.part, known, wanted))


def fingerprint_text(written: Written | None) -> str:
    """Of a text as it is shown, by which a change of it since is known."""
    return fingerprint(msgspec.to_builtins(written))
