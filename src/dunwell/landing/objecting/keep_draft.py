"""Keeps what was typed, with its files, until it is sent."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.disputes.evidence import MOST_AT_ONCE
from dunwell.files.upload import PreparedUpload
from dunwell.landing.session.drafts import MOST_UNSENT, Draft, Typed, choose_new
from dunwell.landing.session.session import Session
from dunwell.landing.session.store_drafts import count_unsent, lock_draft, save_fields, save_files
from dunwell.merchants.account import Work


@dataclass(frozen=True, slots=True)
class Kept:
    """The draft as it stood before, the files it took, and whether there were too many. `made_id`:
    what the form has made when it was sent, now or before."""

    before: Draft
    taken: list[PreparedUpload]
    is_full: bool = False
    made_id: UUID | None = None

    @property
    def ticket_ids(self) -> list[UUID]:
        """Of all the files the draft has now."""
        present = [each.ticket_id for each in self.before.files]
        return [*present, *(each.ticket_id for each in self.taken)]


async def keep_draft(work: Work, session: Session, typed: Typed) -> Kept:
    """Two forms of a subject at once take turns."""
    before = await lock_draft(work.tx, session, typed.subject)
    made_id = before.find_made(typed.form_id)
    if made_id is not None:
        return Kept(before, [], made_id=made_id)
    taken, is_full = choose_new(before, typed.uploads, MOST_AT_ONCE)
    if taken:
        unsent = await count_unsent(work.tx, session.merchant_id, session.claim_id)
        space = max(0, MOST_UNSENT - unsent)
        taken, is_full = taken[:space], is_full or len(taken) > space
    await save_fields(work.tx, session, typed.subject, typed.fields)
    await save_files(work.tx, session, typed.subject, taken)
    return Kept(before, taken, is_full)
