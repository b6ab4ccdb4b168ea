"""Signing in with a password and a code, or with a passkey; and signing out."""

import secrets

import msgspec
from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.sessions.sessions import OpenedSession, end_session
from dunwell.accounts.users.sign_in.passkey_sign_in import (
    sign_in_with_passkey,
    start_passkey_sign_in,
)
from dunwell.accounts.users.sign_in.sign_in import (
    CodeOutcome,
    PendingSignIn,
    SecondFactorLocked,
    SignInExpired,
    SubmittedCode,
    TooManyAttempts,
    WrongSignIn,
    check_password,
    check_recovery_code,
    check_totp_code,
)
from dunwell.accounts.users.single_sign_on.sign_on import SignOnFailure
from dunwell.accounts.users.store import load_user
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.interfaces.portal.users.sign_in_cookies import (
    build_sign_in_page,
    build_visitor,
    choose_next_page,
    count_minutes,
    end_previous_session,
    generate_randomness,
    get_pending_sign_in_secret,
    get_sign_in_services,
    render_pending_sign_in_cookie,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import SecondFactorPage, SignInPage
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, takes_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_redirect

# Faults that the query of the URL may name.
_LINKABLE_FAULTS = {"GONE", "SSO_GONE"}
_PROVIDER_FAULTS = {f"SSO_{each}" for each in SignOnFailure} - _LINKABLE_FAULTS
_STATUS_OF_FAULT = {"WRONG": 400, "PASSKEY": 400, "GONE": 400, "TOO_OFTEN": 429, "LOCKED": 403}


async def get_sign_in_page(site: PortalSite, request: PortalRequest) -> Response:
    """Render the sign-in page, or redirect a user who is already signed in."""
    next_page = choose_next_page(request.get_parameter("next"))
    if await site.find_person(request) is not None:
        return build_redirect(next_page)
    page = build_sign_in_page(site, next_page, request.get_parameter("provider"))
    fault = _get_fault(request, page)
    provider = site.providers.find(request.get_parameter("left"))
    if provider is not None and await provider.find_logout_url("", site.now()) is None:
        provider = None
    page = msgspec.structs.replace(
        page, fault=fault, left_provider=None if provider is None else provider.settings
    )
    return site.render_page(site.build_context(request), page)


async def submit_password(site: PortalSite, request: PortalRequest) -> Response:
    form = await request.read_form()
    email, next_page = form.get("email", "")[:300], choose_next_page(form.get("next", ""))
    outcome = await check_password(
        get_sign_in_services(site),
        email,
        password=form.get("password", ""),
        visitor=build_visitor(site, request),
        randomness=generate_randomness(),
    )
    if isinstance(outcome, PendingSignIn):
        response = site.redirect(request, None, "second", next=next_page)
        cookie = render_pending_sign_in_cookie(outcome.secret, is_secure=site.is_secure)
        response.headers.append("Set-Cookie", cookie)
        return response
    page = msgspec.structs.replace(build_sign_in_page(site, next_page), email=email)
    return _render_refusal(site, request, outcome, page)


async def get_second_factor_page(site: PortalSite, request: PortalRequest) -> Response:
    return _render_second_factor_page(site, request, is_recovery=False)


async def get_recovery_page(site: PortalSite, request: PortalRequest) -> Response:
    return _render_second_factor_page(site, request, is_recovery=True)


async def submit_code(site: PortalSite, request: PortalRequest) -> Response:
    submitted, next_page = await _get_submitted_code(site, request)
    outcome = await check_totp_code(get_sign_in_services(site), submitted)
    return await _answer_outcome(site, request, outcome, next_page, is_recovery=False)


async def submit_recovery_code(site: PortalSite, request: PortalRequest) -> Response:
    submitted, next_page = await _get_submitted_code(site, request)
    outcome = await check_recovery_code(get_sign_in_services(site), submitted)
    return await _answer_outcome(site, request, outcome, next_page, is_recovery=True)


async def send_passkey_options(site: PortalSite, request: PortalRequest) -> Response:
    """Return the options with which the page's script asks for a passkey."""
    await request.read_form()
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_sign_in(
        get_sign_in_services(site), build_visitor(site, request), challenge
    )
    if isinstance(options, TooManyAttempts):
        return Response(None, 429, {"Retry-After": str(options.retry_after)})
    return Response(options, media_type="application/json")


async def submit_passkey(site: PortalSite, request: PortalRequest) -> Response:
    form = await request.read_form()
    next_page = choose_next_page(form.get("next", ""))
    outcome = await sign_in_with_passkey(
        get_sign_in_services(site),
        form.get("answer", "").encode(),
        build_visitor(site, request),
        generate_randomness(),
    )
    if isinstance(outcome, OpenedSession):
        await end_previous_session(site, request)
        return start_browser_session(site, outcome, next_page)
    return _render_refusal(
        site, request, outcome, build_sign_in_page(site, next_page), wrong="PASSKEY"
    )


@takes_form
async def sign_out(
    site: PortalSite, request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    async with site.resources.database.transaction() as tx:
        work = UserWork.open(site.resources, tx, person.actor)
        await end_session(tx, person, person.session_id, work.now)
        await save_user_audit(work, "session.end", person.user_id)
        user = await load_user(tx, person.user_id)
    response = site.redirect(request, None, "sign_in", left=None if user is None else user.provider)
    site.set_session_cookie(response, "")
    return response


def _get_fault(request: PortalRequest, page: SignInPage) -> str:
    """Return the fault that the query names; a provider's fault only for a configured provider."""
    fault = request.get_parameter("fault")
    if fault in _PROVIDER_FAULTS:
        return fault if page.title else "GONE"
    return fault if fault in _LINKABLE_FAULTS else ""


def _render_second_factor_page(
    site: PortalSite, request: PortalRequest, *, is_recovery: bool
) -> Response:
    next_page = choose_next_page(request.get_parameter("next"))
    if not get_pending_sign_in_secret(site, request):
        return site.redirect(request, None, "sign_in", next=next_page)
    return site.render_page(site.build_context(request), SecondFactorPage(next_page, is_recovery))


async def _get_submitted_code(
    site: PortalSite, request: PortalRequest
) -> tuple[SubmittedCode, str]:
    form = await request.read_form()
    submitted = SubmittedCode(
        pending_sign_in_secret=get_pending_sign_in_secret(site, request),
        code=form.get("code", "")[:100],
        visitor=build_visitor(site, request),
        randomness=generate_randomness(),
    )
    return submitted, choose_next_page(form.get("next", ""))


async def _answer_outcome(
    site: PortalSite,
    request: PortalRequest,
    outcome: CodeOutcome,
    next_page: str,
    *,
    is_recovery: bool,
) -> Response:
    if isinstance(outcome, OpenedSession):
        await end_previous_session(site, request)
        return start_browser_session(site, outcome, next_page)
    if isinstance(outcome, SignInExpired):
        return site.redirect(request, None, "sign_in", next=next_page, fault="GONE")
    return _render_refusal(site, request, outcome, SecondFactorPage(next_page, is_recovery))


def _render_refusal(
    site: PortalSite, request: PortalRequest,
    outcome: WrongSignIn | TooManyAttempts | SecondFactorLocked,
    page: SignInPage | SecondFactorPage, *, wrong: str = "WRONG",
) -> Response:  # fmt: skip
    fault, minutes = wrong, 0
    if isinstance(outcome, SecondFactorLocked):
        fault = "LOCKED"
    if isinstance(outcome, TooManyAttempts):
        fault, minutes = "TOO_OFTEN", count_minutes(outcome.retry_after)
    shown = msgspec.structs.replace(page, fault=fault, minutes=minutes)
    response = site.render_page(site.build_context(request), shown, _STATUS_OF_FAULT[fault])
    if isinstance(outcome, TooManyAttempts):
        response.headers["Retry-After"] = str(outcome.retry_after)
    return response


PAGES: RoutedPages = {
    "sign_in": {"GET": get_sign_in_page, "POST": submit_password},
    "second": {"GET": get_second_factor_page, "POST": submit_code},
    "recovery": {"GET": get_recovery_page, "POST": submit_recovery_code},
    "passkey_ask": {"POST": send_passkey_options},
    "passkey": {"POST": submit_passkey},
    "sign_out": {"POST": sign_out},
}
