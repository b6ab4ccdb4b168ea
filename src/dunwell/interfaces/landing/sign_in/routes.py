"""Opening a claim: the start page, the link of a message, and the code of a letter. GET requests
change nothing."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from dunwell.contact.messages.claim_links import hash_token, looks_like_token
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.lifecycle import (
    ClaimSessionOpening,
    OpenedClaimSession,
    open_session,
    reissue_token,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.sign_in.attempt_limits import Delayed, Locked, WrongAttempt
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    ClaimEntry,
    find_handle_of_link,
    find_session_with_higher_level,
    open_claim_once,
    redirect_to_claim,
    redirect_with_session_cookie,
)
from dunwell.interfaces.landing.sign_in.entered_codes import (
    CorrectProof,
    RequestedProof,
    TypedCode,
    verify_letter_code,
    verify_proof,
    verify_sent_code,
)
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    CodeRecipient,
    answer_code_field,
    build_typed_code,
    describe_lock,
    send_code_and_redirect,
)
from dunwell.interfaces.landing.sign_in.store import (
    ClaimAccess,
    find_access_by_link,
    is_undelivered,
)
from dunwell.interfaces.landing.sign_in.verification import (
    AskCode,
    AskProof,
    LinkVerification,
    NoProofNeeded,
    decide_verification,
    get_verification_policy,
)
from dunwell.interfaces.landing.sign_in.views import (
    CodeField,
    DeadLinkPage,
    HomePage,
    LetterCodePage,
    describe_link,
    describe_notices,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor, record_wrong_code
from dunwell.interfaces.landing.web.in_session import RoutedPages, load_browser_sessions
from dunwell.interfaces.landing.web.problems import answer_problem, build_too_many_problem
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.database.database import Connection

_PURPOSE = "landing-sent-session"
# Characters that can follow a link in a text but are not part of a token.
_TRAILING_PUNCTUATION = ".,;:!?)]}>\"'*»\u2019\u201d"


async def get_home_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(await site.load_context(request), HomePage())


async def get_code_entry_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(site.build_context(request), LetterCodePage(is_wrong=False))


async def enter_code(site: DebtorSite, request: DebtorRequest) -> Response:
    form = await request.read_form()
    resources, context = site.resources, site.build_context(request)
    visitor = digest_visitor(resources.keys, request.client_host)
    async with resources.database.transaction() as tx:
        found = await verify_letter_code(
            tx, resources.keys, form.get("code", ""), visitor=visitor, now=site.now()
        )
    if isinstance(found, Delayed):
        return answer_problem(
            site, context, build_too_many_problem(found.retry_after_seconds, "SLOWED")
        )
    if isinstance(found, WrongAttempt):
        return site.render_page(context, LetterCodePage(is_wrong=True), 422)
    return await _open_claim(site, request, context=context, access=found, level=found.level)


async def get_link_page(site: DebtorSite, request: DebtorRequest) -> Response:
    """Show the link's page. Every visitor, including a link scanner, sees only the creditor and
    what the link asks for."""
    access = await _find_link_access(site, request)
    return (
        _answer_dead_link(site, request) if access is None else _answer_link(site, request, access)
    )


async def get_link_notices_page(site: DebtorSite, request: DebtorRequest) -> Response:
    """Show the legal notice of the link's creditor, whether or not the claim is opened."""
    access = await _find_link_access(site, request)
    if access is None:
        return _answer_dead_link(site, request)
    return site.render_page(
        _build_context(site, request, access), describe_notices(access.merchant)
    )


async def open_link(site: DebtorSite, request: DebtorRequest) -> Response:
    form = await request.read_form()
    access = await _find_link_access(site, request)
    if access is None:
        return _answer_dead_link(site, request)
    handle = find_handle_of_link(site, await load_browser_sessions(site, request), access)
    if handle is not None:
        return redirect_to_claim(site, _build_context(site, request, access), handle)
    verification = _decide_verification(access)
    if isinstance(verification, NoProofNeeded):
        return await _open_claim(
            site,
            request,
            context=_build_context(site, request, access),
            access=access,
            level=access.level,
        )
    if isinstance(verification, AskProof):
        return await _submit_proof(
            site, request, form=form, access=access, verification=verification
        )
    return _answer_link(site, request, access)


async def _submit_proof(
    site: DebtorSite,
    request: DebtorRequest,
    form: FormFields,
    access: ClaimAccess,
    verification: AskProof,
) -> Response:
    context = _build_context(site, request, access)
    resources = site.resources
    proof = RequestedProof(
        access.merchant.merchant_id, access.claim_id, access.known, verification.kind
    )
    async with resources.database.transaction() as tx:
        result = await verify_proof(tx, proof, form, now=site.now())
    if isinstance(result, Locked):
        return answer_problem(site, context, describe_lock(result))
    if isinstance(result, WrongAttempt):
        return _answer_link(site, request, access, is_wrong=True)
    return await _open_claim(site, request, context=context, access=access, level=Level.FACT)


async def send_link_code(site: DebtorSite, request: DebtorRequest) -> Response:
    await request.read_form()
    access = await _find_link_access(site, request)
    if access is None:
        return _answer_dead_link(site, request)
    verification, context = _decide_verification(access), _build_context(site, request, access)
    if not isinstance(verification, AskCode):
        return site.redirect(context, "link", **_build_link_parameters(request))
    recipient = CodeRecipient(
        merchant=access.merchant,
        claim_id=access.claim_id,
        channel=verification.channel,
        address=access.known.addresses[verification.channel],
        requested_by="link",
    )
    field = CodeField(verification.channel, "link", _build_link_parameters(request))
    return await send_code_and_redirect(site, context, recipient, field)


async def get_link_code_page(site: DebtorSite, request: DebtorRequest) -> Response:
    """Show the field for the code that was sent."""
    access = await _find_link_access(site, request)
    if access is None:
        return _answer_dead_link(site, request)
    return await _answer_link_code(site, request, access)


async def enter_link_code(site: DebtorSite, request: DebtorRequest) -> Response:
    form = await request.read_form()
    access = await _find_link_access(site, request)
    if access is None:
        return _answer_dead_link(site, request)
    context = _build_context(site, request, access)
    if not isinstance(_decide_verification(access), AskCode):
        return site.redirect(context, "link", **_build_link_parameters(request))
    typed = build_typed_code(
        site, request, form, merchant_id=access.merchant.merchant_id, claim_id=access.claim_id
    )
    async with site.resources.database.transaction() as tx:
        result = await _verify_code_and_open(site, tx, access, typed)
    if isinstance(result, Locked):
        return answer_problem(site, context, describe_lock(result))
    if isinstance(result, WrongAttempt):
        return await _answer_link_code(site, request, access, is_wrong=True)
    sessions = await load_browser_sessions(site, request)
    return redirect_with_session_cookie(site, context, sessions, result)


async def redirect_to_link(site: DebtorSite, request: DebtorRequest) -> Response:
    """Redirect a GET request for a URL that accepts only forms, for example after a change of
    language."""
    if not looks_like_token(_get_token(request)):
        return _answer_dead_link(site, request)
    return site.redirect(site.build_context(request), "link", **_build_link_parameters(request))


def _answer_link(
    site: DebtorSite, request: DebtorRequest, access: ClaimAccess, *, is_wrong: bool = False
) -> Response:
    page = describe_link(_get_token(request), _decide_verification(access), is_wrong=is_wrong)
    return site.render_page(_build_context(site, request, access), page, 422 if is_wrong else 200)


async def _answer_link_code(
    site: DebtorSite, request: DebtorRequest, access: ClaimAccess, *, is_wrong: bool = False
) -> Response:
    verification, context = _decide_verification(access), _build_context(site, request, access)
    if not isinstance(verification, AskCode):
        return site.redirect(context, "link", **_build_link_parameters(request))
    async with site.resources.database.connection() as connection:
        has_failed = await is_undelivered(connection, access.merchant.merchant_id, access.claim_id)
    field = CodeField(
        verification.channel, "link", _build_link_parameters(request), is_undelivered=has_failed
    )
    return answer_code_field(site, context, field, is_wrong=is_wrong)


def _decide_verification(access: ClaimAccess) -> LinkVerification:
    configuration = access.merchant.configuration
    policy = get_verification_policy(configuration, access.channel)
    return decide_verification(policy, access.known, access.channel, configuration.channels)


def _build_context(
    site: DebtorSite, request: DebtorRequest, access: ClaimAccess
) -> DebtorPageContext:
    context = site.build_context(request, access.merchant, access.language)
    return msgspec.structs.replace(context, link_token=_get_token(request))


def _build_link_parameters(request: DebtorRequest) -> dict[str, str]:
    """Return the parameter of the link's URLs. Callers have found the token or checked its
    format."""
    return {"token": _get_token(request)}


def _get_token(request: DebtorRequest) -> str:
    """Return the token without punctuation that a mail program took for a part of the link."""
    token: str = request.path_params["token"]
    return token.rstrip(_TRAILING_PUNCTUATION)


async def _find_link_access(site: DebtorSite, request: DebtorRequest) -> ClaimAccess | None:
    token_hash = hash_token(_get_token(request))
    async with site.resources.database.connection() as connection:
        return await find_access_by_link(connection, token_hash)


async def _open_claim(
    site: DebtorSite,
    request: DebtorRequest,
    context: DebtorPageContext,
    access: ClaimAccess,
    level: Level,
) -> Response:
    """Redirect to the session that this link or code has opened in this browser, or open a session.
    If this browser has a session of the claim with a higher level, the new one gets that level."""
    sessions = await load_browser_sessions(site, request)
    handle = find_handle_of_link(site, sessions, access)
    if handle is not None:
        return redirect_to_claim(site, context, handle)
    claim = (access.merchant.merchant_id, access.claim_id)
    previous = find_session_with_higher_level(site, sessions, *claim, level)
    level = previous.level if previous else level
    resources, session_id = site.resources, site.resources.ids.new(site.now())
    visitor = digest_visitor(resources.keys, request.client_host)
    async with resources.database.transaction() as tx:
        work = site.build_work(tx, access.merchant, session_id)
        opened = await open_claim_once(
            work,
            resources.keys,
            ClaimEntry(
                access,
                level,
                visitor=visitor,
                session_id=session_id,
                randomness=site.draw_randomness(),
                previous=previous,
            ),
        )
    if isinstance(opened, Locked):
        return answer_problem(
            site, context, build_too_many_problem(opened.retry_after_seconds, "OPENED_OFTEN")
        )
    return redirect_with_session_cookie(site, context, sessions, opened)


async def _verify_code_and_open(
    site: DebtorSite, tx: Connection, access: ClaimAccess, typed: TypedCode
) -> OpenedClaimSession | WrongAttempt | Locked:
    """Verify the sent code and open the claim. A used code is wrong for any visitor but the one who
    has used it."""
    keys, now = site.resources.keys, site.now()
    result = await verify_sent_code(tx, keys, typed, now)
    if not isinstance(result, CorrectProof):
        return result
    assert result.notice_id is not None
    # If the same visitor enters the same code again, this key finds the session.
    repeat_key = keys.digest(_PURPOSE, result.notice_id.bytes + typed.visitor)
    if not result.is_repeated:
        return await _open_by_code(
            site, tx, access=access, repeat_key=repeat_key, proven=result.proven_digests
        )
    work = site.build_work(tx, access.merchant, access.claim_id)
    repeated = await reissue_token(work, repeat_key, site.draw_randomness())
    return repeated or await record_wrong_code(tx, now)


async def _open_by_code(
    site: DebtorSite,
    tx: Connection,
    access: ClaimAccess,
    repeat_key: bytes,
    proven: Sequence[bytes],
) -> OpenedClaimSession:
    session_id = site.resources.ids.new(site.now())
    opening = ClaimSessionOpening(
        claim_id=access.claim_id,
        communication_id=access.communication_id,
        channel=access.channel,
        level=Level.CODE,
        session_id=session_id,
        randomness=site.draw_randomness(),
        previous_hash=repeat_key,
        proven_digests=proven,
    )
    work = site.build_work(tx, access.merchant, session_id)
    return await open_session(work, site.resources.keys, opening)


def _answer_dead_link(site: DebtorSite, request: DebtorRequest) -> Response:
    """Answer a link that does not exist. The response is the same for a deleted link and for one
    that never existed."""
    return site.render_page(site.build_context(request), DeadLinkPage(), 410)


PAGES: RoutedPages = {
    "home": {"GET": get_home_page},
    "code": {"GET": get_code_entry_page, "POST": enter_code},
    "link": {"GET": get_link_page, "POST": open_link},
    "link_send": {"GET": redirect_to_link, "POST": send_link_code},
    "link_code": {"GET": get_link_code_page, "POST": enter_link_code},
    "link_notices": {"GET": get_link_notices_page},
}
