"""Keeps what was typed, with its files, until it is sent."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import MOST_AT_ONCE
from dunwell.core.files.upload import PreparedUpload
from dunwell.interfaces.landing.session.drafts import (
    DRAFT_LASTS,
    MOST_UNSENT,
    Draft,
    Typed,
    add_other,
    choose_new,
    is_overtaken,
    own_by_claim,
)
from dunwell.interfaces.landing.session.store_drafts import (
    count_unsent,
    lock_draft,
    save_fields,
    save_files,
)


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """The draft as it stood before, the files it took, and whether there were too many. `made_id`:
    what the form has made when it was sent, now or before. `is_overtaken`: somebody has typed
    something else meanwhile, and both versions are kept."""

    before: Draft
    taken: list[PreparedUpload]
    is_full: bool = False
    made_id: UUID | None = None
    is_overtaken: bool = False

    @property
    def ticket_ids(self) -> list[UUID]:
        """Of all the files the draft has now."""
        present = [each.ticket_id for each in self.before.files]
        return [*present, *(each.ticket_id for each in self.taken)]


async def keep_draft(work: Work, claim_id: int, typed: Typed) -> KeptDraft:
    """Two forms of a subject at once take turns."""
    work.need(Right.CHANGE_CLAIMS)
    key = own_by_claim(work.merchant_id, claim_id, typed.subject)
    kept_until = work.real_now + DRAFT_LASTS
    before = await lock_draft(work.tx, key, kept_until)
    made_id = before.find_made(typed.form_id)
    if made_id is not None:
        return KeptDraft(before, [], made_id=made_id)
    taken, is_full = choose_new(before, typed.uploads, MOST_AT_ONCE)
    if taken:
        unsent = await count_unsent(work.tx, work.merchant_id, claim_id)
        space = max(0, MOST_UNSENT - unsent)
        taken, is_full = taken[:space], is_full or len(taken) > space
    overtaken = is_overtaken(before, typed)
    if overtaken:
        await save_fields(work.tx, key, before.fields, add_other(before, typed.fields))
    else:
        await save_fields(work.tx, key, typed.fields)
    await save_files(work.tx, key, taken, kept_until)
    return KeptDraft(before, taken, is_full, is_overtaken=overtaken)
