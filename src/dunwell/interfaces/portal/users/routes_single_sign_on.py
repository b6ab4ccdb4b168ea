"""Single sign-on: to the identity provider and back, sign-out there, and confirming a session."""

import json
import secrets
import shlex
from urllib.parse import parse_qs

import msgspec
from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.sessions.confirm_session import (
    find_confirmation_ways,
    start_passkey_confirmation,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts
from dunwell.accounts.users.single_sign_on.identities import SignOnRefused, process_logout
from dunwell.accounts.users.single_sign_on.provider import (
    IdentityProvider,
    ProviderUnavailable,
    TokenRejected,
)
from dunwell.accounts.users.single_sign_on.sign_on import (
    ConfirmationEnded,
    ProviderReturn,
    SignOnCompleted,
    SignOnFailure,
    finish_attempt,
    start_attempt,
)
from dunwell.accounts.users.user import SignedInUser
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.users.sign_in_cookies import (
    choose_next,
    count_minutes,
    end_before,
    fill_door,
    find_visitor,
    generate_randomness,
    read_attempt,
    read_session_secret,
    receive,
    render_attempt_cookie,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import ConfirmationPage, SignInPage, UnwelcomePage
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import read_body
from dunwell.platform.security_events import log_security_event


@takes_form
async def ask_browser(
    site: PortalSite, _visit: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    """Return what the page's script asks a passkey."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_confirmation(receive(site), person, challenge)
    return Response(options, media_type="application/json")


@signed_in
async def send_to_confirm(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    """Redirect to the provider that the person signs in with. Raises NotFound."""
    async with receive(site).work(person.actor) as work:
        ways = await find_confirmation_ways(work, person)
    provider = site.providers.find(ways.provider) if ways.provider else None
    if provider is None:
        raise NotFound("There is no such provider.")
    outcome = await start_attempt(
        receive(site), provider, build_address("account"), visitor=find_visitor(site, visit),
        randomness=generate_randomness(), confirms_session=person.session_id,
    )  # fmt: skip
    if isinstance(outcome, ProviderUnavailable):
        return show_failure(site, visit, provider, "AWAY", status=503)
    if isinstance(outcome, TooManyAttempts):
        minutes = count_minutes(outcome.retry_after)
        return show_failure(site, visit, provider, "TOO_OFTEN", status=429, minutes=minutes)
    answer = answer_redirect(outcome.address)
    cookie = render_attempt_cookie(outcome.secret, is_secure=site.is_secure)
    answer.headers.append("Set-Cookie", cookie)
    return answer


def show_failure(
    site: PortalSite, visit: PortalRequest, provider: IdentityProvider, failure: str, *,
    status: int, minutes: int = 0,
) -> Response:  # fmt: skip
    """failure: "" if the session is confirmed."""
    page = ConfirmationPage(failure, provider.provider.shown, minutes)
    return site.answer(site.frame(visit), page, status)


# Nobody knows yet who sends it. A logout token is a few kilobytes.
_MOST_LOGOUT_BYTES = 16 * 1024
# What a browser may bring back of one thing; longer ones are none.
_LONGEST = 4_000


async def send_there(site: PortalSite, visit: PortalRequest) -> Response:
    """Raises NotFound."""
    provider = _find(site, visit)
    to = choose_next(visit.ask("next"))
    outcome = await start_attempt(
        receive(site), provider, to,
        visitor=find_visitor(site, visit), randomness=generate_randomness(),
    )  # fmt: skip
    if isinstance(outcome, ProviderUnavailable):
        page = fill_door(site, to, provider.provider.name)
        return _show(site, visit, msgspec.structs.replace(page, fault="SSO_AWAY"), 503)
    if isinstance(outcome, TooManyAttempts):
        minutes = count_minutes(outcome.retry_after)
        page = msgspec.structs.replace(fill_door(site, to), fault="TOO_OFTEN", minutes=minutes)
        answer = _show(site, visit, page, 429)
        answer.headers["Retry-After"] = str(outcome.retry_after)
        return answer
    answer = answer_redirect(outcome.address)
    cookie = render_attempt_cookie(outcome.secret, is_secure=site.is_secure)
    answer.headers.append("Set-Cookie", cookie)
    return answer


async def finish_sign_on(site: PortalSite, visit: PortalRequest) -> Response:
    """What the address says is used once and led away from. Raises NotFound."""
    provider = _find(site, visit)
    returned = ProviderReturn(
        secret=read_attempt(site, visit),
        state=visit.ask("state")[:_LONGEST],
        code=visit.ask("code")[: _LONGEST + 1],
        error=visit.ask("error")[:_LONGEST],
        issuer=visit.read_query("iss"),
        visitor=find_visitor(site, visit),
        randomness=generate_randomness(),
        session=read_session_secret(site, visit),
    )
    outcome = await finish_attempt(receive(site), provider, returned)
    match outcome:
        case SignOnCompleted():
            await end_before(site, visit)
            answer = start_browser_session(site, outcome.opened, choose_next(outcome.next_page))
        case ConfirmationEnded(failure):
            # For the page, which shows who is signed in.
            await site.find_person(visit)
            answer = show_failure(
                site, visit, provider, str(failure or ""), status=403 if failure else 200
            )
        case SignOnRefused():
            title = provider.provider.shown
            command = _name_command(outcome, provider.provider.name)
            page = UnwelcomePage(outcome.reason, title, outcome.claims.email, command)
            answer = site.answer(site.frame(visit), page, 403)
        case _:
            name = provider.provider.name
            answer = answer_redirect(
                build_address("sign_in", fault=f"SSO_{outcome}", provider=name)
            )
    if outcome is not SignOnFailure.GONE:
        cookie = render_attempt_cookie("", is_secure=site.is_secure)
        answer.headers.append("Set-Cookie", cookie)
    return answer


async def submit_logout_token(site: PortalSite, visit: PortalRequest) -> Response:
    """The provider's own request: no cookie, no page. Raises NotFound."""
    provider, services = _find(site, visit), receive(site)
    body = await read_body(visit, _MOST_LOGOUT_BYTES)
    given = parse_qs(body.decode("latin-1")).get("logout_token", [])
    token = given[0] if len(given) == 1 else ""
    told = await provider.read_logout(token, services.now())
    if isinstance(told, ProviderUnavailable):
        return Response(None, 503, {"Retry-After": "30", "Cache-Control": "no-store"})
    is_locked = not isinstance(told, TokenRejected) and await process_logout(
        services, provider.provider.name, told
    )
    if is_locked:
        return Response(None, 200, {"Cache-Control": "no-store"})
    log_security_event("LOGOUT_FORGED")
    refusal = {"error": "invalid_request", "error_description": "The logout token is not good."}
    return Response(
        json.dumps(refusal), 400, {"Cache-Control": "no-store"}, media_type="application/json"
    )


async def sign_out_at_provider(site: PortalSite, visit: PortalRequest) -> Response:
    """Out of the provider too, where it has a way. Raises NotFound."""
    provider = _find(site, visit)
    back_to = site.resources.settings.public_url + build_address("sign_in")
    address = await provider.find_leaving_address(back_to, site.now())
    return answer_redirect(address or build_address("sign_in"))


def _name_command(unwelcome: SignOnRefused, provider: str) -> str:
    """For the operator's shell: what the provider says is data there too."""
    told = unwelcome.claims
    words = ["link", told.email, "--provider", provider, "--subject", told.subject]
    return shlex.join(["dunwell", "user", *words])


def _show(site: PortalSite, visit: PortalRequest, page: SignInPage, status: int) -> Response:
    return site.answer(site.frame(visit), page, status)


def _find(site: PortalSite, visit: PortalRequest) -> IdentityProvider:
    provider = site.providers.find(visit.path_params["provider"])
    if provider is None:
        raise NotFound("There is no such provider.")
    return provider


PAGES: RoutedPages = {
    "account_confirm": {"GET": send_to_confirm},
    "account_confirm_ask": {"POST": ask_browser},
    "sso_start": {"GET": send_there},
    "sso_back": {"GET": finish_sign_on},
    "sso_logout": {"POST": submit_logout_token},
    "sso_leave": {"GET": sign_out_at_provider},
}
