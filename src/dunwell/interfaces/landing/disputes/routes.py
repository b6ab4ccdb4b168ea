"""Objecting to a claim: the reasons, the questions of one, and sending it.

What was typed is kept at every click, so that nothing of it is lost by a fault, a refused file or a
longer session.
"""

import msgspec
from starlette.responses import Response

from dunwell.cases.disputes.dispute import (
    RECENT_PERIOD,
    ClaimDispute,
    NewDispute,
    find_open_dispute,
    may_open_dispute,
)
from dunwell.cases.disputes.reasons import OfferedReason
from dunwell.cases.disputes.store import list_recent_disputes
from dunwell.interfaces.landing.disputes.dispute_form import (
    Answered,
    list_refusals,
    load_typed,
    read_answers,
    read_typed,
    save_typed_form,
)
from dunwell.interfaces.landing.disputes.receive_form import (
    ReceivedForm,
    discard,
    read_texts,
    receive_files,
)
from dunwell.interfaces.landing.disputes.submit_dispute import (
    KeptDraft,
    can_dispute,
    find_reason,
    list_reasons_for,
    needs_fact,
    send_dispute,
)
from dunwell.interfaces.landing.disputes.views import (
    ReasonsPage,
    Showing,
    describe_questions,
    describe_reason,
)
from dunwell.interfaces.landing.session.drafts import SubmittedForm
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import find_day
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    extend_opened,
    find_opened_by,
    is_extended_by_form,
    renew_previous_token,
)
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages, in_session
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.responses import answer_redirect
from dunwell.platform.errors import InvalidState, NotFound, Refusal, Unavailable

_PLACE = "dispute"
# Its id on the page.
_FORM = "answers"
# Its button for one more hour.
_STAY = "stay"


@in_session
async def choose_reason(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    frame = site.frame_opened(visit, opened)
    if not can_dispute(opened.facts):
        return site.redirect(frame, "claim")
    disputes, level = opened.merchant.configuration.disputes, opened.session.level
    reasons = [
        describe_reason(each, frame.language, opened) for each in list_reasons_for(disputes, level)
    ]
    has_more = not level.reaches(Level.FACT)
    is_full = not may_open_dispute(
        await _load_recent(site, opened), opened.merchant.now(site.resources.clock)
    )
    return site.answer(frame, ReasonsPage(reasons, has_more, is_full))


@in_session
async def show_questions(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    found = await _find_reason(site, visit, opened)
    if isinstance(found, Response):
        return found
    showing = Showing(site.resources.ids.new(site.now()))
    return await _answer_questions(site, visit, opened, reason=found, showing=showing)


async def submit_answers(site: DebtorSite, visit: DebtorRequest) -> Response:
    """A form of a live session; of one that has ended, what was typed is kept."""
    opened = await site.find_opened(visit)
    if opened is None:
        return site.answer_ended(visit, None, form=await read_texts(visit))
    if not site.is_live(opened):
        return await _answer_late(site, visit, await receive_files(site, visit, opened))
    found = await _find_reason(site, visit, opened)
    if isinstance(found, Response):
        # Another tab was faster, or the claim is not what it was: the words stay all the same.
        if _find_late_reason(visit, opened) is not None:
            await _answer_late(site, visit, await receive_files(site, visit, opened))
        return found
    received = await receive_files(site, visit, opened)
    if not site.is_live(received.opened):
        return await _answer_late(site, visit, received)
    return await _take(site, visit, opened, reason=found, received=received)


async def _take(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    received: ReceivedForm,
) -> Response:
    """1. keep what was typed; send it when that was asked for and nothing is wrong; go on in a
       session of another hour when that was
    2. throw away the files that neither took
    """
    typed, wish = read_typed(site, reason, received), received.fields.get("do")
    answered = _read(site, visit, opened, reason=reason, typed=typed)
    is_sent = wish == "send" and not received.is_stale
    try:
        if is_sent and not answered.faults and not received.refusals:
            kept = await _send(site, opened, typed, _compose(reason, answered))
        else:
            kept = await save_typed_form(site, opened, typed, received.fields.get("remove", ""))
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
    if kept.created_id is not None:
        frame = site.frame_opened(visit, opened)
        return site.redirect(frame, "dispute", dispute_id=kept.created_id)
    showing = Showing(
        typed.form_id,
        answered.faults if is_sent and not kept.is_overtaken else [],
        list_refusals(received, kept),
        # Beside what somebody else has typed: both are shown.
        overtaking=typed.fields if kept.is_overtaken else None,
        is_stale=received.is_stale,
    )
    if wish == _STAY and not showing.is_news:
        value = await _extend(site, visit, opened, received)
        if value is not None:
            return await _answer_stay(site, visit, reason, showing=showing, value=value)
    return await _answer_kept(site, visit, opened, reason=reason, showing=showing)


async def _extend(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, received: ReceivedForm
) -> str | None:
    """Return the cookie value of the extended session, or None if this form does not extend it."""
    is_repeated = is_extended_by_form(site, opened, received.fields)
    if visit.has_previous_token and visit.session_hash:
        return await renew_previous_token(site, opened, visit.session_hash)
    if opened.session.can_be_extended and not is_repeated:
        return await extend_opened(site, opened)
    return None


async def _answer_late(site: DebtorSite, visit: DebtorRequest, received: ReceivedForm) -> Response:
    """Keep what was typed, if the form belongs to the ended session, and send nothing."""
    opened = received.opened
    reason = _find_late_reason(visit, opened)
    if opened is None or reason is None:
        await discard(site, opened, received.uploads) if opened else None
        return site.answer_ended(visit, opened, form=received.fields)
    kept = await save_typed_form(site, opened, read_typed(site, reason, received), "")
    await discard(site, opened, [each for each in received.uploads if each not in kept.taken])
    return site.answer_ended(visit, opened, is_kept=kept.created_id is None, form=received.fields)


def _find_late_reason(visit: DebtorRequest, opened: OpenedClaim | None) -> OfferedReason | None:
    """If a session of this level could have typed something of it."""
    if opened is None:
        return None
    reason = find_reason(opened.merchant.configuration.disputes, visit.path_params["reason"])
    if reason is None or not can_dispute(opened.facts):
        return None
    is_too_low = needs_fact(reason) and not opened.session.level.reaches(Level.FACT)
    return None if is_too_low else reason


async def _answer_stay(
    site: DebtorSite,
    visit: DebtorRequest,
    reason: OfferedReason,
    showing: Showing,
    value: str | None,
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
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    showing: Showing,
) -> Response:
    if showing.faults or showing.refusals or showing.is_news:
        return await _answer_questions(site, visit, opened, reason=reason, showing=showing)
    frame = site.frame_opened(visit, opened)
    return answer_redirect(frame.address("questions", reason=reason.name) + "#saved")


async def _send(
    site: DebtorSite, opened: OpenedClaim, typed: SubmittedForm, new: NewDispute
) -> KeptDraft:
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        return await send_dispute(work, site.resources.keys, opened, typed, new=new)


async def _find_reason(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim
) -> OfferedReason | Response:
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
    standing = find_open_dispute(reason.name, recent)
    if standing is not None:
        frame = site.frame_opened(visit, opened)
        return site.redirect(frame, "dispute", dispute_id=standing.dispute_id)
    if not may_open_dispute(recent, opened.merchant.now(site.resources.clock)):
        return site.redirect(site.frame_opened(visit, opened), "reasons")
    return reason


async def _load_recent(site: DebtorSite, opened: OpenedClaim) -> list[ClaimDispute]:
    if not opened.facts.has_disputes:
        return []
    since = opened.merchant.now(site.resources.clock) - RECENT_PERIOD
    key = (opened.merchant.merchant_id, opened.facts.claim_id)
    async with site.resources.database.connection() as connection:
        return await list_recent_disputes(connection, *key, since)


def _read(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    typed: SubmittedForm,
) -> Answered:
    merchant = opened.merchant
    today = find_day(merchant.now(site.resources.clock), merchant.configuration.timezone)
    language = site.frame_opened(visit, opened).language
    return read_answers(reason, typed.fields, opened.facts.currency, language=language, today=today)


def _compose(reason: OfferedReason, answered: Answered) -> NewDispute:
    return NewDispute(reason.name, answered.message, answered.answers)


async def _answer_questions(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    showing: Showing,
) -> Response:
    """With what was typed so far."""
    frame = msgspec.structs.replace(site.frame_opened(visit, opened), kept_form=_FORM)
    page = describe_questions(
        opened, frame.language, reason,
        draft=await load_typed(site, opened, reason, showing), showing=showing,
    )  # fmt: skip
    wrong = 409 if showing.is_news else 422
    is_plain = not (showing.faults or showing.refusals or showing.is_news)
    return site.answer(frame, page, 200 if is_plain else wrong)


PAGES: RoutedPages = {
    "reasons": {"GET": choose_reason},
    "questions": {"GET": show_questions, "POST": submit_answers},
}
