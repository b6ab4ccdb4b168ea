"""The claim page, its files, the debtor's other claims, and extending or ending the session."""

from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.core.files.read_attachments import get_attachment
from dunwell.core.files.storage import ContentMissing
from dunwell.core.files.store import LOAD_ATTACHED
from dunwell.core.files.upload import MAX_ATTACHMENTS, AttachedFile
from dunwell.interfaces.landing.claim_page.next_steps import load_forecast
from dunwell.interfaces.landing.claim_page.other_claims import (
    OTHERS,
    OtherOpening,
    list_others,
    open_other,
)
from dunwell.interfaces.landing.claim_page.recent_answers import find_alternative
from dunwell.interfaces.landing.claim_page.views import (
    ClosingClaim,
    OthersPage,
    RoomPage,
    describe_claim,
    describe_documents,
    describe_withheld,
    name_document,
)
from dunwell.interfaces.landing.payment.payment_choice import has_method
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.session.cookies import MOST_OPEN, list_to_close
from dunwell.interfaces.landing.session.details import KEY, NOTHING, Detail
from dunwell.interfaces.landing.session.lifecycle import end_session
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    extend_opened,
    find_session_of_claim,
    is_extended_by_form,
    redirect_to_claim,
    redirect_with_session_cookie,
    renew_previous_token,
)
from dunwell.interfaces.landing.sign_in.legal_notices import describe_notices
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    check_feature,
    from_level,
    in_session,
    in_session_with,
    takes_form_from,
    takes_form_with,
)
from dunwell.interfaces.landing.web.latest_claim import find_held, find_last_handle
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.landing.web.views import EndedPage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_file, answer_redirect
from dunwell.platform.database.sql import nest_rows
from dunwell.platform.errors import NotFound


async def find_closing(site: DebtorSite, visit: DebtorRequest) -> list[ClosingClaim]:
    """The claims that would close for the one in the address; none: there is room."""
    if len(visit.session_hashes) <= MOST_OPEN:
        return []
    handles = list_to_close(await find_held(site, visit), visit.handle, site.now())
    found = []
    async with site.resources.database.connection() as connection:
        for handle in handles:
            other = await load_opened_claim(connection, visit.session_hashes[handle])
            if other is not None:
                found.append(_describe(handle, other))
    return found


def _describe(handle: str, opened: OpenedClaim) -> ClosingClaim:
    facts = opened.facts
    reference = None if facts.withheld else facts.reference_number
    return ClosingClaim(handle, opened.merchant.name, reference)


@takes_form_with(NOTHING, also_withheld=True)
async def submit_room(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Closes the oldest, or gives up the claim that was opened last. A second click finds room."""
    frame = site.frame_opened(visit, opened)
    if form.get("do") == "back":
        async with site.resources.database.transaction() as tx:
            work = site.work(tx, opened.merchant, opened.session.session_id)
            await end_session(work, opened.session)
        answer = answer_redirect(build_address("claim"))
        site.set_cookie(answer, visit.handle, "")
        return answer
    answer = site.redirect(frame, "claim")
    if form.get("do") == "open":
        for each in await find_closing(site, visit):
            site.set_cookie(answer, each.handle, "")
    return answer


@in_session_with(NOTHING, also_withheld=True)
async def return_to_claim(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame_opened(visit, opened), "claim")


@in_session_with(OTHERS, also_withheld=True)
async def show_claim(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    frame, merchant = site.frame_opened(visit, opened), opened.merchant
    if closing := await find_closing(site, visit):
        return site.answer(frame, RoomPage(closing))
    if opened.facts.withheld:
        return site.answer(frame, describe_withheld(opened, opened.facts.withheld))
    now, can_pay = merchant.now(site.resources.clock), has_method(site.providers, merchant)
    announced = await load_forecast(site.resources, opened, now)
    others = list_others(site.resources.keys, opened)
    page = describe_claim(
        opened, now, announced, can_pay=can_pay, other_count=len(others),
        alternative=await find_alternative(site.resources, opened, now),
    )  # fmt: skip
    return site.answer(frame, page)


async def extend(site: DebtorSite, visit: DebtorRequest) -> Response:
    """Another hour; a second click lands on the same page."""
    form, opened = await visit.read_session_form(), await site.find_opened(visit)
    if opened is None:
        return site.answer_ended(visit, None)
    frame = site.frame_opened(visit, opened)
    if not site.is_live(opened):
        return site.answer_ended(visit, opened)
    if visit.has_previous_token:
        site.check_token(opened.session, form)
        value = await renew_previous_token(site, opened, visit.session_hash or b"")
        return site.redirect(frame, "claim", cookie=value)
    if is_extended_by_form(site, opened, form) or not opened.session.can_be_extended:
        return site.redirect(frame, "claim")
    site.check_token(opened.session, form)
    return site.redirect(frame, "claim", cookie=await extend_opened(site, opened))


@takes_form_with(NOTHING, also_withheld=True)
async def end(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        await end_session(work, opened.session)
    # The cookie stays: it opens nothing, but tells why, and what another tab still brings is kept.
    return site.redirect(site.frame_opened(visit, opened), "ended")


async def show_ended(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), EndedPage("ENDED"))


async def redirect_back(site: DebtorSite, visit: DebtorRequest) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame(visit), "claim")


async def show_notices(site: DebtorSite, visit: DebtorRequest) -> Response:
    """Legal notice, privacy and accessibility, in a session or outside of one.

    A session that has timed out still names its creditor. One that the debtor ended does not: the
    next person at the same screen must not learn who wrote.
    """
    opened = await site.find_opened(visit)
    if opened is None or opened.session.ended_at is not None:
        frame = site.frame(visit)
    elif site.is_live(opened):
        frame = site.frame_opened(visit, opened)
    else:
        frame = site.frame(visit, opened.merchant, opened.facts.language)
    return site.answer(frame, describe_notices(frame.merchant))


async def show_imprint(site: DebtorSite, visit: DebtorRequest) -> Response:
    """The legal notice at the address where people look for it: of the claim opened last."""
    handle = await find_last_handle(site, visit)
    if handle is None:
        return site.answer(site.frame(visit), describe_notices(None))
    return site.redirect(msgspec.structs.replace(site.frame(visit), handle=handle), "notices")


_DOCUMENTS_PLACE = "documents"
DOCUMENTS: Detail[list[AttachedFile]] = Detail(
    nest_rows(LOAD_ATTACHED, *KEY, str(MAX_ATTACHMENTS)), list[AttachedFile]
)


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _DOCUMENTS_PLACE)
async def show_documents(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    check_feature(opened, "DOCUMENTS")
    return _answer_list(site, visit, opened)


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _DOCUMENTS_PLACE)
async def send_document(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    check_feature(opened, "DOCUMENTS")
    attachment_id = _read_id(visit.path_params["attachment_id"])
    # The connection is given back before the file storage is called.
    async with site.resources.database.connection() as connection:
        work = site.work(connection, opened.merchant, opened.session.session_id)
        attached = await get_attachment(work, opened.facts.claim_id, attachment_id)
    try:
        content = await site.storage.load(attached.storage_key)
    except ContentMissing:
        return _answer_list(site, visit, opened, missing=attached)
    return answer_file(content, attached.content_type, name_document(attached))


def _answer_list(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, missing: AttachedFile | None = None
) -> Response:
    """missing: one whose file should be there."""
    page = describe_documents(DOCUMENTS.read(opened.detail), missing)
    return site.answer(site.frame_opened(visit, opened), page, 410 if missing else 200)


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such document of this claim.") from None


_OTHERS_PLACE = "others"


@in_session_with(OTHERS)
@from_level(Level.CODE, _OTHERS_PLACE)
async def show_others(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    found = list_others(site.resources.keys, opened)
    return site.answer(site.frame_opened(visit, opened), OthersPage(found))


@takes_form_with(OTHERS)
@takes_form_from(Level.CODE, _OTHERS_PLACE)
async def redirect_to_other_claim(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Into the session that has it open, or a new one. Raises NotFound for what is none of them."""
    keys, frame = site.resources.keys, site.frame_opened(visit, opened)
    known = {str(each.claim_id): each.claim_id for each in list_others(keys, opened)}
    claim_id = known.get(visit.path_params["other"])
    if claim_id is None:
        raise NotFound("This is none of the debtor's other claims.")
    merchant_id, held = opened.merchant.merchant_id, await find_held(site, visit)
    back = find_session_of_claim(site, held, merchant_id, claim_id, level=opened.session.level)
    if back is not None:
        return redirect_to_claim(site, frame, back)
    session_id = site.resources.ids.new(site.now())
    other = OtherOpening(claim_id, session_id, site.draw_randomness())
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, session_id)
        session = await open_other(work, keys, opened.session, other)
    return redirect_with_session_cookie(site, frame, held, session)


@in_session
async def redirect_to_other_claims(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim
) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame_opened(visit, opened), "others")


PAGES: RoutedPages = {
    "room": {"GET": return_to_claim, "POST": submit_room},
    "claim": {"GET": show_claim},
    "extend": {"GET": redirect_back, "POST": extend},
    "end": {"GET": redirect_back, "POST": end},
    "ended": {"GET": show_ended},
    "notices": {"GET": show_notices},
    "imprint": {"GET": show_imprint},
    "impressum": {"GET": show_imprint},
    "documents": {"GET": show_documents},
    "document": {"GET": send_document},
    "others": {"GET": show_others},
    "other": {"GET": redirect_to_other_claims, "POST": redirect_to_other_claim},
}
