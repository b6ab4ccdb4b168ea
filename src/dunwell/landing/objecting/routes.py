"""Objecting to a claim: the reasons, the questions of one, and sending it.

What was typed is kept at every click, so that nothing of it is lost by a fault, a refused file or a
longer session.
"""

from contextlib import suppress
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.disputes.dispute import RECENT, Dispute, NewDispute, find_standing, has_room
from dunwell.disputes.reasons import Reason
from dunwell.disputes.store import load_recent_disputes
from dunwell.errors import InvalidState, NotFound, Refusal, Unavailable
from dunwell.files.put_away import throw_away
from dunwell.landing.entering.staying import find_opened_by, find_stayed, is_repeated, stay
from dunwell.landing.objecting.answers import Answered, pick_fields, read_answers
from dunwell.landing.objecting.disputing import (
    can_dispute,
    find_reason,
    list_reasons_for,
    needs_fact,
)
from dunwell.landing.objecting.keep_draft import Kept, keep_draft
from dunwell.landing.objecting.receive_files import FileRefusal, Late, discard, receive_files
from dunwell.landing.objecting.send_dispute import send_dispute
from dunwell.landing.objecting.views import (
    ReasonsPage,
    Showing,
    describe_questions,
    describe_reason,
)
from dunwell.landing.session.drafts import Draft, Typed
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import find_day
from dunwell.landing.session.store_drafts import load_draft, remove_file
from dunwell.landing.session.store_opened import OpenedClaim
from dunwell.landing.web.answer import answer_redirect
from dunwell.landing.web.in_session import RoutedPages, in_session
from dunwell.landing.web.site import Site
from dunwell.landing.web.visit import Visit

_PLACE = "dispute"
# Its id on the page.
_FORM = "answers"
# Its button for one more hour.
_STAY = "stay"


@in_session
async def choose_reason(site: Site, visit: Visit, opened: OpenedClaim) -> Response:
    frame = site.frame_opened(visit, opened)
    if not can_dispute(opened.facts):
        return site.redirect(frame, "claim")
    disputes, level = opened.merchant.configuration.disputes, opened.session.level
    reasons = [
        describe_reason(each, frame.language, opened) for each in list_reasons_for(disputes, level)
    ]
    has_more = not level.reaches(Level.FACT)
    is_full = not has_room(
        await _load_recent(site, opened), opened.merchant.now(site.resources.clock)
    )
    return site.answer(frame, ReasonsPage(reasons, has_more, is_full))


@in_session
async def show_questions(site: Site, visit: Visit, opened: OpenedClaim) -> Response:
    found = await _find_reason(site, visit, opened)
    if isinstance(found, Response):
        return found
    showing = Showing(site.resources.ids.new(site.now()))
    return await _answer_questions(site, visit, opened, reason=found, showing=showing)


async def take_answers(site: Site, visit: Visit) -> Response:
    """A form of a live session, or of one that was extended a moment ago."""
    opened = await site.find_opened(visit)
    if opened is not None and site.is_live(opened):
        return await _take(site, visit, opened)
    if opened is None or await find_stayed(site, opened) is None:
        return site.answer_ended(visit, opened)
    received = await receive_files(site, visit, opened)
    assert isinstance(received, Late)
    return await _answer_late(site, visit, received)


async def _take(site: Site, visit: Visit, opened: OpenedClaim) -> Response:
    """1. check where the form comes from, and put its files away
    2. keep what was typed; send it when that was asked for and nothing is wrong; go on in a
       session of another hour when that was
    3. throw away the files that neither took
    """
    found = await _find_reason(site, visit, opened)
    if isinstance(found, Response):
        return found
    received = await receive_files(site, visit, opened)
    if isinstance(received, Late):
        return await _answer_late(site, visit, received)
    typed = Typed(
        _name_subject(found), _read_form_id(site, received.fields.get("form", "")),
        pick_fields(found, received.fields), received.uploads,
    )  # fmt: skip
    answered = _read(site, visit, opened, reason=found, typed=typed)
    is_sent = received.fields.get("do") == "send"
    try:
        if is_sent and not answered.faults and not received.refusals:
            kept = await _send(site, opened, typed, _compose(found, answered))
        else:
            kept = await _keep(site, opened, typed, received.fields.get("remove", ""))
    except Unavailable:
        # It may have been written all the same.
        raise
    except Refusal as refusal:
        await discard(site, opened, received.uploads)
        if isinstance(refusal, InvalidState):
            # Paid, ended or objected since the page was shown: the claim page says which.
            return site.redirect(site.frame_opened(visit, opened), "claim")
        raise
    await discard(site, opened, [each for each in received.uploads if each not in kept.taken])
    if kept.made_id is not None:
        return site.redirect(site.frame_opened(visit, opened), "dispute", dispute_id=kept.made_id)
    refusals = [*received.refusals, *([FileRefusal("TOO_MANY")] if kept.is_full else [])]
    showing = Showing(typed.form_id, answered.faults if is_sent else [], refusals)
    if received.fields.get("do") == _STAY and not is_repeated(site, opened, received.fields):
        return await _answer_stay(
            site, visit, found, showing=showing, value=await stay(site, opened)
        )
    return await _answer_kept(site, visit, opened, reason=found, showing=showing)


async def _answer_late(site: Site, visit: Visit, late: Late) -> Response:
    """A second click on "one more hour" gets the first one's cookie: that has kept what this one
    brings."""
    opened, name = late.opened, visit.path_params["reason"]
    if opened is None or late.fields.get("do") != _STAY:
        return site.answer_ended(visit, opened)
    value = await find_stayed(site, opened)
    reason = find_reason(opened.merchant.configuration.disputes, name)
    if value is None or reason is None:
        return site.answer_ended(visit, opened)
    showing = Showing(site.resources.ids.new(site.now()), refusals=late.refusals)
    return await _answer_stay(site, visit, reason, showing=showing, value=value)


async def _answer_stay(
    site: Site, visit: Visit, reason: Reason, showing: Showing, value: str | None
) -> Response:
    """Another hour with all that is typed, and a word on each file that was not kept. value: the
    new session's cookie."""
    extended = await find_opened_by(site, value) if value and showing.refusals else None
    if value is None or extended is None:
        return site.redirect(site.frame(visit), "questions", reason=reason.name, cookie=value)
    answer = await _answer_questions(site, visit, extended, reason=reason, showing=showing)
    site.set_cookie(answer, visit.handle, value)
    return answer


async def _answer_kept(
    site: Site, visit: Visit, opened: OpenedClaim, reason: Reason, showing: Showing
) -> Response:
    if showing.faults or showing.refusals:
        return await _answer_questions(site, visit, opened, reason=reason, showing=showing)
    frame = site.frame_opened(visit, opened)
    return answer_redirect(frame.address("questions", reason=reason.name) + "#saved")


async def _send(site: Site, opened: OpenedClaim, typed: Typed, new: NewDispute) -> Kept:
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        return await send_dispute(work, opened.session, typed, new)


async def _keep(site: Site, opened: OpenedClaim, typed: Typed, removed: str) -> Kept:
    """removed: the upload of a file that is no longer wanted, as the form says it."""
    ticket_id = _read_ticket_id(removed)
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        kept = await keep_draft(work, opened.session, typed)
        is_removed = ticket_id is not None and await remove_file(
            tx, opened.session, typed.subject, ticket_id
        )
    if ticket_id is not None and is_removed:
        with suppress(Unavailable):
            await throw_away(
                site.resources.database, site.storage, opened.merchant.merchant_id, [ticket_id]
            )
    return kept


def _read_ticket_id(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None


async def _find_reason(site: Site, visit: Visit, opened: OpenedClaim) -> Reason | Response:
    """The reason in the path, or where to go first: also to the dispute that stands, or to what is
    said when there were too many. Raises NotFound.
    """
    reason = find_reason(opened.merchant.configuration.disputes, visit.path_params["reason"])
    if reason is None:
        raise NotFound("There is no such reason.")
    if needs_fact(reason) and not opened.session.level.reaches(Level.FACT):
        return site.ask_more(visit, opened, _PLACE)
    if not can_dispute(opened.facts):
        return site.redirect(site.frame_opened(visit, opened), "claim")
    recent = await _load_recent(site, opened)
    standing = find_standing(reason.name, recent)
    if standing is not None:
        frame = site.frame_opened(visit, opened)
        return site.redirect(frame, "dispute", dispute_id=standing.dispute_id)
    if not has_room(recent, opened.merchant.now(site.resources.clock)):
        return site.redirect(site.frame_opened(visit, opened), "reasons")
    return reason


async def _load_recent(site: Site, opened: OpenedClaim) -> list[Dispute]:
    if not opened.facts.has_disputes:
        return []
    since = opened.merchant.now(site.resources.clock) - RECENT
    key = (opened.merchant.merchant_id, opened.facts.claim_id)
    async with site.resources.database.connection() as connection:
        return await load_recent_disputes(connection, *key, since)


def _read(site: Site, visit: Visit, opened: OpenedClaim, reason: Reason, typed: Typed) -> Answered:
    merchant = opened.merchant
    today = find_day(merchant.now(site.resources.clock), merchant.configuration.timezone)
    language = site.frame_opened(visit, opened).language
    return read_answers(reason, typed.fields, opened.facts.currency, language=language, today=today)


def _compose(reason: Reason, answered: Answered) -> NewDispute:
    return NewDispute(reason.name, answered.message, answered.answers)


async def _answer_questions(
    site: Site, visit: Visit, opened: OpenedClaim, reason: Reason, showing: Showing
) -> Response:
    """With what the session has typed so far."""
    frame = msgspec.structs.replace(site.frame_opened(visit, opened), kept_form=_FORM)
    page = describe_questions(
        opened, frame.language, reason,
        draft=await _load_draft(site, opened, reason, showing), showing=showing,
    )  # fmt: skip
    return site.answer(frame, page, 422 if showing.faults or showing.refusals else 200)


async def _load_draft(site: Site, opened: OpenedClaim, reason: Reason, showing: Showing) -> Draft:
    """What the session has typed of it, if it may have typed anything."""
    if not opened.has_drafts and not showing.faults and not showing.refusals:
        return Draft(_name_subject(reason))
    async with site.resources.database.connection() as connection:
        return await load_draft(connection, opened.session, _name_subject(reason))


def _name_subject(reason: Reason) -> str:
    return f"dispute:{reason.name}"


def _read_form_id(site: Site, given: str) -> UUID:
    """What marks one showing of the form; a fresh one for what is none."""
    try:
        return UUID(given)
    except ValueError:
        return site.resources.ids.new(site.now())


PAGES: RoutedPages = {
    "reasons": {"GET": choose_reason},
    "questions": {"GET": show_questions, "POST": take_answers},
}
