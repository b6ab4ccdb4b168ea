"""A form of an objection as it was typed: read, kept with its files, and loaded to be shown."""

from contextlib import suppress
from uuid import UUID

from dunwell.cases.disputes.reasons import Reason
from dunwell.core.files.uploads import throw_away
from dunwell.interfaces.landing.objecting.answers import pick_fields
from dunwell.interfaces.landing.objecting.disputing import SUBJECT
from dunwell.interfaces.landing.objecting.keep_draft import KeptDraft, keep_draft
from dunwell.interfaces.landing.objecting.receive_files import FileRefusal, Received
from dunwell.interfaces.landing.objecting.views import Showing
from dunwell.interfaces.landing.session.drafts import Draft, Typed, own_by_claim, show_typed
from dunwell.interfaces.landing.session.store_drafts import load_draft, remove_file
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.errors import Unavailable

_LONGEST_REVISION = 9


async def keep_typed(
    site: DebtorSite, opened: OpenedClaim, typed: Typed, removed: str
) -> KeptDraft:
    """removed: the upload of a file that is no longer wanted, as the form says it."""
    ticket_id = _read_ticket_id(removed)
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        kept = await keep_draft(work, opened.facts.claim_id, typed)
        key = own_by_claim(work.merchant_id, opened.facts.claim_id, typed.subject)
        is_removed = ticket_id is not None and await remove_file(tx, key, ticket_id)
    if ticket_id is not None and is_removed:
        with suppress(Unavailable):
            await throw_away(
                site.resources.database, site.storage, opened.merchant.merchant_id, [ticket_id]
            )
    return kept


async def load_typed(
    site: DebtorSite, opened: OpenedClaim, reason: Reason, showing: Showing
) -> Draft:
    """What was typed of it, if anything was."""
    subject, is_new = _name_subject(reason), showing.faults or showing.refusals or showing.is_news
    if subject not in opened.drafts and not is_new:
        return Draft(subject)
    key = own_by_claim(opened.merchant.merchant_id, opened.facts.claim_id, subject)
    async with site.resources.database.connection() as connection:
        draft = await load_draft(connection, key)
    return draft if showing.overtaking is None else show_typed(draft, showing.overtaking)


def read_typed(site: DebtorSite, reason: Reason, received: Received) -> Typed:
    return Typed(
        _name_subject(reason),
        _read_form_id(site, received.fields.get("form", "")),
        fields=pick_fields(reason, received.fields),
        uploads=received.uploads,
        revision=_read_revision(received.fields.get("revision", "")),
    )


def _read_revision(given: str) -> int | None:
    is_number = given.isascii() and given.isdecimal() and len(given) < _LONGEST_REVISION
    return int(given) if is_number else None


def list_refusals(received: Received, kept: KeptDraft) -> list[FileRefusal]:
    return [*received.refusals, *([FileRefusal("TOO_MANY")] if kept.is_full else [])]


def _read_ticket_id(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None


def _read_form_id(site: DebtorSite, given: str) -> UUID:
    """What marks one showing of the form; a fresh one for what is none."""
    try:
        return UUID(given)
    except ValueError:
        return site.resources.ids.new(site.now())


def _name_subject(reason: Reason) -> str:
    return SUBJECT + reason.name
