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
    OTHER_CLAIMS,
    OtherClaimOpening,
    list_other_claims,
    open_other_claim,
)
from dunwell.interfaces.landing.claim_page.recent_answers import find_alternative
from dunwell.interfaces.landing.claim_page.views import (
    ClaimToClose,
    OtherClaimsPage,
    TooManyClaimsPage,
    describe_claim,
    describe_documents,
    describe_withheld,
    name_document,
)
from dunwell.interfaces.landing.payment.payment_choice import has_method
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.session.details import KEY, NOTHING, Detail
from dunwell.interfaces.landing.session.lifecycle import end_session
from dunwell.interfaces.landing.session.session import MAX_OPEN_CLAIMS, Level, list_handles_to_close
from dunwell.interfaces.landing.session.store import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    extend_opened,
    find_handle_of_claim,
    is_extended_by_form,
    redirect_to_claim,
    redirect_with_session_cookie,
    renew_previous_token,
)
from dunwell.interfaces.landing.sign_in.views import describe_notices
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form_with,
    check_feature,
    find_latest_handle,
    form_requires_level,
    in_session,
    in_session_with,
    load_browser_sessions,
    requires_level,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite, EndedPage
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response, build_redirect
from dunwell.platform.database.sql import nest_rows
from dunwell.platform.errors import NotFound


async def list_claims_to_close(site: DebtorSite, request: DebtorRequest) -> list[ClaimToClose]:
    """List the claims whose cookies this browser must drop so that the claim in the URL can stay
    open. Their sessions do not end. Return an empty list if the browser has no more than
    MAX_OPEN_CLAIMS sessions."""
    if len(request.session_hashes) <= MAX_OPEN_CLAIMS:
        return []
    handles = list_handles_to_close(
        await load_browser_sessions(site, request), request.handle, site.now()
    )
    found = []
    async with site.resources.database.connection() as connection:
        for handle in handles:
            other = await load_opened_claim(connection, request.session_hashes[handle])
            if other is not None:
                found.append(_describe(handle, other))
    return found


def _describe(handle: str, opened: OpenedClaim) -> ClaimToClose:
    facts = opened.facts
    reference = None if facts.withheld else facts.reference_number
    return ClaimToClose(handle, opened.merchant.name, reference)


@accepts_form_with(NOTHING, also_withheld=True)
async def close_oldest_claims(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Close the oldest claims, by deleting their cookies, so that the claim in the URL can stay
    open; or keep them, and end the session of the claim in the URL. Sending the form twice has no
    further effect."""
    context = site.build_claim_context(request, opened)
    if form.get("do") == "back":
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            await end_session(work, opened.session)
        answer = build_redirect(build_address("claim"))
        site.set_cookie(answer, request.handle, "")
        return answer
    answer = site.redirect(context, "claim")
    if form.get("do") == "open":
        for each in await list_claims_to_close(site, request):
            site.set_cookie(answer, each.handle, "")
    return answer


@in_session_with(NOTHING, also_withheld=True)
async def return_to_claim(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language, to the page of the opened claim."""
    return site.redirect(site.build_claim_context(request, opened), "claim")


@in_session_with(OTHER_CLAIMS, also_withheld=True)
async def get_claim_page(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    context, merchant = site.build_claim_context(request, opened), opened.merchant
    if to_close := await list_claims_to_close(site, request):
        return site.render_page(context, TooManyClaimsPage(to_close))
    if opened.facts.withheld:
        return site.render_page(context, describe_withheld(opened, opened.facts.withheld))
    now, can_pay = merchant.now(site.resources.clock), has_method(site.providers, merchant)
    announced = await load_forecast(site.resources, opened, now)
    others = list_other_claims(site.resources.keys, opened)
    page = describe_claim(
        opened, now, announced, can_pay=can_pay, other_count=len(others),
        alternative=await find_alternative(site.resources, opened, now),
    )  # fmt: skip
    return site.render_page(context, page)


async def submit_extension(site: DebtorSite, request: DebtorRequest) -> Response:
    """Extend the session by an hour. If the form is sent twice, the second request redirects to the
    same page."""
    form, opened = await request.read_session_form(), await site.find_opened(request)
    if opened is None:
        return site.answer_session_ended(request, None)
    context = site.build_claim_context(request, opened)
    if not site.is_live(opened):
        return site.answer_session_ended(request, opened)
    if request.has_previous_token:
        site.check_token(opened.session, form)
        value = await renew_previous_token(site, opened, request.session_hash or b"")
        return site.redirect(context, "claim", cookie=value)
    if is_extended_by_form(site, opened, form) or not opened.session.can_be_extended:
        return site.redirect(context, "claim")
    site.check_token(opened.session, form)
    return site.redirect(context, "claim", cookie=await extend_opened(site, opened))


@accepts_form_with(NOTHING, also_withheld=True)
async def submit_end(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        await end_session(work, opened.session)
    # Keep the cookie. It opens nothing, but a page can say that the session was ended, and text
    # that another tab submits is saved.
    return site.redirect(site.build_claim_context(request, opened), "ended")


async def get_session_ended_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(site.build_context(request), EndedPage("ENDED"))


async def redirect_to_claim_of_address(site: DebtorSite, request: DebtorRequest) -> Response:
    """Redirect a GET request for an address that accepts only forms to the page of the claim in the
    URL, also without a session."""
    return site.redirect(site.build_context(request), "claim")


async def get_notices_page(site: DebtorSite, request: DebtorRequest) -> Response:
    """Show the legal notice, the privacy notice and the accessibility statement.

    After the session has timed out, the page still names the creditor. After the debtor has ended
    the session, it does not, because the next person at the same screen must not learn who sent the
    claim.
    """
    opened = await site.find_opened(request)
    if opened is None or opened.session.ended_at is not None:
        context = site.build_context(request)
    elif site.is_live(opened):
        context = site.build_claim_context(request, opened)
    else:
        context = site.build_context(request, opened.merchant, opened.facts.language)
    return site.render_page(context, describe_notices(context.merchant))


async def get_imprint_page(site: DebtorSite, request: DebtorRequest) -> Response:
    """Redirect the usual address of a legal notice to the notice of the claim that was opened
    last."""
    handle = await find_latest_handle(site, request)
    if handle is None:
        return site.render_page(site.build_context(request), describe_notices(None))
    return site.redirect(
        msgspec.structs.replace(site.build_context(request), handle=handle), "notices"
    )


_DOCUMENTS_RETURN_PAGE = "documents"
DOCUMENTS: Detail[list[AttachedFile]] = Detail(
    nest_rows(LOAD_ATTACHED, *KEY, str(MAX_ATTACHMENTS)), list[AttachedFile]
)


@in_session_with(DOCUMENTS)
@requires_level(Level.FACT, _DOCUMENTS_RETURN_PAGE)
async def get_documents_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    check_feature(opened, "DOCUMENTS")
    return _answer_document_list(site, request, opened)


@in_session_with(DOCUMENTS)
@requires_level(Level.FACT, _DOCUMENTS_RETURN_PAGE)
async def download_document(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    check_feature(opened, "DOCUMENTS")
    attachment_id = _parse_id(request.path_params["attachment_id"])
    # Return the connection to the pool before the file storage is called.
    async with site.resources.database.connection() as connection:
        work = site.build_work(connection, opened.merchant, opened.session.session_id)
        attached = await get_attachment(work, opened.facts.claim_id, attachment_id)
    try:
        content = await site.storage.load(attached.storage_key)
    except ContentMissing:
        return _answer_document_list(site, request, opened, missing=attached)
    return build_file_response(content, attached.content_type, name_document(attached))


def _answer_document_list(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    missing: AttachedFile | None = None,
) -> Response:
    """Render the list of documents. `missing` is a document whose file was not found in the
    storage."""
    page = describe_documents(DOCUMENTS.decode(opened.detail), missing)
    return site.render_page(
        site.build_claim_context(request, opened), page, 410 if missing else 200
    )


def _parse_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such document of this claim.") from None


_OTHERS_RETURN_PAGE = "others"


@in_session_with(OTHER_CLAIMS)
@requires_level(Level.CODE, _OTHERS_RETURN_PAGE)
async def get_other_claims_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    found = list_other_claims(site.resources.keys, opened)
    return site.render_page(site.build_claim_context(request, opened), OtherClaimsPage(found))


@accepts_form_with(OTHER_CLAIMS)
@form_requires_level(Level.CODE, _OTHERS_RETURN_PAGE)
async def redirect_to_other_claim(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Redirect to another claim of the debtor, and open a session for it if this browser has none.
    Raises NotFound if the id does not belong to another claim of this debtor."""
    keys, context = site.resources.keys, site.build_claim_context(request, opened)
    claim_ids = {str(each.claim_id): each.claim_id for each in list_other_claims(keys, opened)}
    claim_id = claim_ids.get(request.path_params["other"])
    if claim_id is None:
        raise NotFound("This is not another claim of the debtor.")
    merchant_id, sessions = opened.merchant.merchant_id, await load_browser_sessions(site, request)
    handle = find_handle_of_claim(site, sessions, merchant_id, claim_id, level=opened.session.level)
    if handle is not None:
        return redirect_to_claim(site, context, handle)
    session_id = site.resources.ids.new(site.now())
    other = OtherClaimOpening(claim_id, session_id, site.draw_randomness())
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, session_id)
        session = await open_other_claim(work, keys, opened.session, other)
    return redirect_with_session_cookie(site, context, sessions, session)


@in_session
async def redirect_to_other_claims(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms to the list of the debtor's
    other claims."""
    return site.redirect(site.build_claim_context(request, opened), "others")


PAGES: RoutedPages = {
    "room": {"GET": return_to_claim, "POST": close_oldest_claims},
    "claim": {"GET": get_claim_page},
    "extend": {"GET": redirect_to_claim_of_address, "POST": submit_extension},
    "end": {"GET": redirect_to_claim_of_address, "POST": submit_end},
    "ended": {"GET": get_session_ended_page},
    "notices": {"GET": get_notices_page},
    "imprint": {"GET": get_imprint_page},
    "impressum": {"GET": get_imprint_page},
    "documents": {"GET": get_documents_page},
    "document": {"GET": download_document},
    "others": {"GET": get_other_claims_page},
    "other": {"GET": redirect_to_other_claims, "POST": redirect_to_other_claim},
}
