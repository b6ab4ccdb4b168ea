"""Disputing a claim: the reasons, the questions of a reason, and submitting the dispute.

Entered text is saved with every request, so that an error, a refused file or an extension of the
session loses nothing.
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
from dunwell.cases.modalities.progress import local_date
from dunwell.interfaces.landing.disputes.dispute_form import (
    ParsedAnswers,
    list_refusals,
    load_dispute_draft,
    parse_answers,
    parse_dispute_form,
    save_typed_form,
)
from dunwell.interfaces.landing.disputes.receive_form import (
    ReceivedForm,
    delete_unused_uploads,
    receive_form,
    receive_texts,
)
from dunwell.interfaces.landing.disputes.submit_dispute import (
    SavedDisputeDraft,
    can_dispute,
    find_reason,
    list_reasons_for_level,
    needs_proof,
    submit_dispute,
)
from dunwell.interfaces.landing.disputes.views import (
    QuestionsState,
    ReasonsPage,
    describe_questions,
    describe_reason,
)
from dunwell.interfaces.landing.session.drafts import SubmittedForm
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    extend_opened,
    find_claim_opened_by,
    is_extended_by_form,
    renew_previous_token,
)
from dunwell.interfaces.landing.web.in_session import RoutedPages, in_session
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.responses import build_redirect
from dunwell.platform.errors import InvalidState, NotFound, Refusal, Unavailable

_RETURN_PAGE = "dispute"
# The form's id on the page.
_FORM_ID = "answers"
# The value of the button that extends the session.
_EXTEND_BUTTON = "stay"


@in_session
async def get_dispute_reasons_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    context = site.build_claim_context(request, opened)
    if not can_dispute(opened.facts):
        return site.redirect(context, "claim")
    disputes, level = opened.merchant.configuration.disputes, opened.session.level
    reasons = [
        describe_reason(each, context.language, opened)
        for each in list_reasons_for_level(disputes, level)
    ]
    has_more = not level.reaches(Level.FACT)
    is_full = not may_open_dispute(
        await _load_recent(site, opened), opened.merchant.now(site.resources.clock)
    )
    return site.render_page(context, ReasonsPage(reasons, has_more, is_full))


@in_session
async def get_dispute_questions_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    found = await _find_reason(site, request, opened)
    if isinstance(found, Response):
        return found
    state = QuestionsState(site.resources.ids.new(site.now()))
    return await _answer_questions(site, request, opened, reason=found, state=state)


async def submit_answers(site: DebtorSite, request: DebtorRequest) -> Response:
    """Accept the form in a live session. In an ended session, save what was entered."""
    opened = await site.find_opened(request)
    if opened is None:
        return site.answer_session_ended(request, None, form=await receive_texts(request))
    if not site.is_live(opened):
        return await _answer_late(site, request, await receive_form(site, request, opened))
    found = await _find_reason(site, request, opened)
    if isinstance(found, Response):
        # Another tab has opened the dispute, or the claim has changed. The text is saved
        # nevertheless.
        if _find_late_reason(request, opened) is not None:
            await _answer_late(site, request, await receive_form(site, request, opened))
        return found
    received = await receive_form(site, request, opened)
    if not site.is_live(received.opened):
        return await _answer_late(site, request, received)
    return await _save_or_send(site, request, opened, reason=found, received=received)


async def _save_or_send(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    received: ReceivedForm,
) -> Response:
    """Save what was entered, and submit the dispute if that was requested and there is no fault.
    Then delete the files that neither the draft nor the dispute refers to."""
    typed, button = parse_dispute_form(site, reason, received), received.fields.get("do")
    answered = _parse_answers(site, request, opened, reason=reason, typed=typed)
    is_sent = button == "send" and not received.is_stale
    try:
        if is_sent and not answered.faults and not received.refusals:
            saved = await _submit(site, opened, typed, _build_dispute(reason, answered))
        else:
            saved = await save_typed_form(site, opened, typed, received.fields.get("remove", ""))
    except Unavailable:
        # The transaction may have been committed nevertheless, so the files must stay.
        raise
    except Refusal as refusal:
        await delete_unused_uploads(site, opened, received.uploads)
        if isinstance(refusal, InvalidState):
            # The claim was paid, closed or disputed since the form was shown. The claim's page says
            # which.
            return site.redirect(site.build_claim_context(request, opened), "claim")
        raise
    unused = [each for each in received.uploads if each not in saved.new_files]
    await delete_unused_uploads(site, opened, unused)
    if saved.created_id is not None:
        context = site.build_claim_context(request, opened)
        return site.redirect(context, "dispute", dispute_id=saved.created_id)
    state = QuestionsState(
        typed.form_id,
        answered.faults if is_sent and not saved.has_conflict else [],
        list_refusals(received, saved),
        # Both the entered and the saved version are shown.
        conflicting_text=typed.fields if saved.has_conflict else None,
        is_stale=received.is_stale,
    )
    if button == _EXTEND_BUTTON and not state.has_conflicting_state:
        value = await _extend(site, request, opened, received)
        if value is not None:
            return await _answer_extension(site, request, reason, state=state, value=value)
    return await _answer_saved(site, request, opened, reason=reason, state=state)


async def _extend(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, received: ReceivedForm
) -> str | None:
    """Return the cookie value of the extended session, or None if this form does not extend it."""
    is_repeated = is_extended_by_form(site, opened, received.fields)
    if request.has_previous_token and request.session_hash:
        return await renew_previous_token(site, opened, request.session_hash)
    if opened.session.can_be_extended and not is_repeated:
        return await extend_opened(site, opened)
    return None


async def _answer_late(
    site: DebtorSite, request: DebtorRequest, received: ReceivedForm
) -> Response:
    """Save what was entered if a session of this level may fill in the form. Submit nothing."""
    opened = received.opened
    reason = _find_late_reason(request, opened)
    if opened is None or reason is None:
        if opened is not None:
            await delete_unused_uploads(site, opened, received.uploads)
        return site.answer_session_ended(request, opened, form=received.fields)
    saved = await save_typed_form(site, opened, parse_dispute_form(site, reason, received), "")
    await delete_unused_uploads(
        site, opened, [each for each in received.uploads if each not in saved.new_files]
    )
    return site.answer_session_ended(
        request, opened, is_kept=saved.created_id is None, form=received.fields
    )


def _find_late_reason(request: DebtorRequest, opened: OpenedClaim | None) -> OfferedReason | None:
    """Find the reason in the path. Return None if it does not exist, or a session of this level may
    not fill in its form."""
    if opened is None:
        return None
    reason = find_reason(opened.merchant.configuration.disputes, request.path_params["reason"])
    if reason is None or not can_dispute(opened.facts):
        return None
    is_too_low = needs_proof(reason) and not opened.session.level.reaches(Level.FACT)
    return None if is_too_low else reason


async def _answer_extension(
    site: DebtorSite,
    request: DebtorRequest,
    reason: OfferedReason,
    state: QuestionsState,
    value: str,
) -> Response:
    """Redirect to the form in the extended session, or show it with the files that were refused.
    `value` is the cookie of the extended session."""
    extended = await find_claim_opened_by(site, value) if state.refusals else None
    if extended is None:
        return site.redirect(
            site.build_context(request), "questions", reason=reason.name, cookie=value
        )
    answer = await _answer_questions(site, request, extended, reason=reason, state=state)
    site.set_cookie(answer, request.handle, value)
    return answer


async def _answer_saved(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    state: QuestionsState,
) -> Response:
    if state.faults or state.refusals or state.has_conflicting_state:
        return await _answer_questions(site, request, opened, reason=reason, state=state)
    context = site.build_claim_context(request, opened)
    return build_redirect(context.address("questions", reason=reason.name) + "#saved")


async def _submit(
    site: DebtorSite, opened: OpenedClaim, typed: SubmittedForm, new: NewDispute
) -> SavedDisputeDraft:
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        return await submit_dispute(work, site.resources.keys, opened, typed, new=new)


async def _find_reason(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> OfferedReason | Response:
    """Return the reason in the path, or a redirect: to verification, to the claim, to the open
    dispute for this reason, or to the reasons if there were too many disputes. Raises NotFound if
    the reason does not exist."""
    reason = find_reason(opened.merchant.configuration.disputes, request.path_params["reason"])
    if reason is None:
        raise NotFound("There is no such reason.")
    if needs_proof(reason) and not opened.session.level.reaches(Level.FACT):
        return site.redirect_to_verification(request, opened, _RETURN_PAGE)
    if not can_dispute(opened.facts):
        return site.redirect(site.build_claim_context(request, opened), "claim")
    recent = await _load_recent(site, opened)
    open_dispute = find_open_dispute(reason.name, recent)
    if open_dispute is not None:
        context = site.build_claim_context(request, opened)
        return site.redirect(context, "dispute", dispute_id=open_dispute.dispute_id)
    if not may_open_dispute(recent, opened.merchant.now(site.resources.clock)):
        return site.redirect(site.build_claim_context(request, opened), "reasons")
    return reason


async def _load_recent(site: DebtorSite, opened: OpenedClaim) -> list[ClaimDispute]:
    if not opened.facts.has_disputes:
        return []
    since = opened.merchant.now(site.resources.clock) - RECENT_PERIOD
    key = (opened.merchant.merchant_id, opened.facts.claim_id)
    async with site.resources.database.connection() as connection:
        return await list_recent_disputes(connection, *key, since)


def _parse_answers(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    typed: SubmittedForm,
) -> ParsedAnswers:
    merchant = opened.merchant
    today = local_date(merchant.now(site.resources.clock), merchant.configuration.timezone)
    language = site.build_claim_context(request, opened).language
    return parse_answers(
        reason, typed.fields, opened.facts.currency, language=language, today=today
    )


def _build_dispute(reason: OfferedReason, answered: ParsedAnswers) -> NewDispute:
    return NewDispute(reason.name, answered.message, answered.answers)


async def _answer_questions(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    reason: OfferedReason,
    state: QuestionsState,
) -> Response:
    """Render the form with the saved draft."""
    context = msgspec.structs.replace(site.build_claim_context(request, opened), kept_form=_FORM_ID)
    page = describe_questions(
        opened, context.language, reason,
        draft=await load_dispute_draft(site, opened, reason, state), state=state,
    )  # fmt: skip
    wrong = 409 if state.has_conflicting_state else 422
    is_plain = not (state.faults or state.refusals or state.has_conflicting_state)
    return site.render_page(context, page, 200 if is_plain else wrong)


PAGES: RoutedPages = {
    "reasons": {"GET": get_dispute_reasons_page},
    "questions": {"GET": get_dispute_questions_page, "POST": submit_answers},
}
