"""Signing in and out: a password, then a code; or a passkey alone."""

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
    choose_next,
    count_minutes,
    end_before,
    fill_door,
    find_visitor,
    generate_randomness,
    read_entry,
    receive,
    render_entry_cookie,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import SecondPage, SignInPage
from dunwell.interfaces.portal.web.guards import RoutedPages, takes_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect

# Faults that an address may bring.
_TOLD = {"GONE", "SSO_GONE"}
_OF_PROVIDER = {f"SSO_{each}" for each in SignOnFailure} - _TOLD
_STATUS = {"WRONG": 400, "PASSKEY": 400, "GONE": 400, "TOO_OFTEN": 429, "LOCKED": 403}


async def show_sign_in(site: PortalSite, visit: PortalRequest) -> Response:
    """Whoever is signed in goes on."""
    to = choose_next(visit.ask("next"))
    if await site.find_person(visit) is not None:
        return answer_redirect(to)
    page = fill_door(site, to, visit.ask("provider"))
    fault = _read_fault(visit, page)
    left = site.providers.find(visit.ask("left"))
    if left is not None and await left.find_leaving_address("", site.now()) is None:
        left = None
    page = msgspec.structs.replace(page, fault=fault, left=None if left is None else left.provider)
    return site.answer(site.frame(visit), page)


async def submit_password(site: PortalSite, visit: PortalRequest) -> Response:
    form = await visit.read_form()
    email, to = form.get("email", "")[:300], choose_next(form.get("next", ""))
    outcome = await check_password(
        receive(site),
        email,
        password=form.get("password", ""),
        visitor=find_visitor(site, visit),
        randomness=generate_randomness(),
    )
    if isinstance(outcome, PendingSignIn):
        answer = site.redirect(visit, None, "second", next=to)
        cookie = render_entry_cookie(outcome.secret, is_secure=site.is_secure)
        answer.headers.append("Set-Cookie", cookie)
        return answer
    page = msgspec.structs.replace(fill_door(site, to), email=email)
    return _refuse(site, visit, outcome, page)


async def show_second(site: PortalSite, visit: PortalRequest) -> Response:
    return _show_second(site, visit, is_recovery=False)


async def show_recovery(site: PortalSite, visit: PortalRequest) -> Response:
    return _show_second(site, visit, is_recovery=True)


async def submit_code(site: PortalSite, visit: PortalRequest) -> Response:
    given, to = await _read_code(site, visit)
    outcome = await check_totp_code(receive(site), given)
    return await _go_on(site, visit, outcome, to, is_recovery=False)


async def submit_recovery_code(site: PortalSite, visit: PortalRequest) -> Response:
    given, to = await _read_code(site, visit)
    outcome = await check_recovery_code(receive(site), given)
    return await _go_on(site, visit, outcome, to, is_recovery=True)


async def ask_browser(site: PortalSite, visit: PortalRequest) -> Response:
    """What the page's script asks a passkey."""
    await visit.read_form()
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_sign_in(receive(site), find_visitor(site, visit), challenge)
    if isinstance(options, TooManyAttempts):
        return Response(None, 429, {"Retry-After": str(options.retry_after)})
    return Response(options, media_type="application/json")


async def submit_passkey(site: PortalSite, visit: PortalRequest) -> Response:
    form = await visit.read_form()
    to = choose_next(form.get("next", ""))
    outcome = await sign_in_with_passkey(
        receive(site),
        form.get("answer", "").encode(),
        find_visitor(site, visit),
        generate_randomness(),
    )
    if isinstance(outcome, OpenedSession):
        await end_before(site, visit)
        return start_browser_session(site, outcome, to)
    return _refuse(site, visit, outcome, fill_door(site, to), wrong="PASSKEY")


@takes_form
async def sign_out(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    async with site.resources.database.transaction() as tx:
        work = UserWork.open(site.resources, tx, person.actor)
        await end_session(tx, person, person.session_id, work.now)
        await save_user_audit(work, "session.end", person.user_id)
        user = await load_user(tx, person.user_id)
    answer = site.redirect(visit, None, "sign_in", left=None if user is None else user.provider)
    site.set_session(answer, "")
    return answer


def _read_fault(visit: PortalRequest, page: SignInPage) -> str:
    """As the address says it; of a provider that there is."""
    fault = visit.ask("fault")
    if fault in _OF_PROVIDER:
        return fault if page.title else "GONE"
    return fault if fault in _TOLD else ""


def _show_second(site: PortalSite, visit: PortalRequest, *, is_recovery: bool) -> Response:
    to = choose_next(visit.ask("next"))
    if not read_entry(site, visit):
        return site.redirect(visit, None, "sign_in", next=to)
    return site.answer(site.frame(visit), SecondPage(to, is_recovery))


async def _read_code(site: PortalSite, visit: PortalRequest) -> tuple[SubmittedCode, str]:
    form = await visit.read_form()
    given = SubmittedCode(
        entry_secret=read_entry(site, visit),
        code=form.get("code", "")[:100],
        visitor=find_visitor(site, visit),
        randomness=generate_randomness(),
    )
    return given, choose_next(form.get("next", ""))


async def _go_on(
    site: PortalSite, visit: PortalRequest, outcome: CodeOutcome, to: str, *, is_recovery: bool
) -> Response:
    if isinstance(outcome, OpenedSession):
        await end_before(site, visit)
        return start_browser_session(site, outcome, to)
    if isinstance(outcome, SignInExpired):
        return site.redirect(visit, None, "sign_in", next=to, fault="GONE")
    return _refuse(site, visit, outcome, SecondPage(to, is_recovery))


def _refuse(
    site: PortalSite, visit: PortalRequest,
    outcome: WrongSignIn | TooManyAttempts | SecondFactorLocked,
    page: SignInPage | SecondPage, *, wrong: str = "WRONG",
) -> Response:  # fmt: skip
    fault, minutes = wrong, 0
    if isinstance(outcome, SecondFactorLocked):
        fault = "LOCKED"
    if isinstance(outcome, TooManyAttempts):
        fault, minutes = "TOO_OFTEN", count_minutes(outcome.retry_after)
    shown = msgspec.structs.replace(page, fault=fault, minutes=minutes)
    answer = site.answer(site.frame(visit), shown, _STATUS[fault])
    if isinstance(outcome, TooManyAttempts):
        answer.headers["Retry-After"] = str(outcome.retry_after)
    return answer


PAGES: RoutedPages = {
    "sign_in": {"GET": show_sign_in, "POST": submit_password},
    "second": {"GET": show_second, "POST": submit_code},
    "recovery": {"GET": show_recovery, "POST": submit_recovery_code},
    "passkey_ask": {"POST": ask_browser},
    "passkey": {"POST": submit_passkey},
    "sign_out": {"POST": sign_out},
}
