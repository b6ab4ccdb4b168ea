"""Single sign-on: redirect to the identity provider and back, sign out there, and confirm a
session."""

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
    build_sign_in_page,
    build_visitor,
    choose_next_page,
    count_minutes,
    end_previous_session,
    generate_randomness,
    get_attempt_secret,
    get_session_secret,
    get_sign_in_services,
    render_attempt_cookie,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import ConfirmationPage, SignInPage, SignOnRefusedPage
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_redirect
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import read_body
from dunwell.platform.security_events import log_security_event


@takes_form
async def send_passkey_options(
    site: PortalSite, _request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    """Return the options with which the page's script asks for a passkey."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_confirmation(get_sign_in_services(site), person, challenge)
    return Response(options, media_type="application/json")


@signed_in
async def redirect_to_confirmation(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    """Redirect to the provider with which the user signs in. Raises NotFound."""
    async with get_sign_in_services(site).work(person.actor) as work:
        methods = await find_confirmation_ways(work, person)
    provider = site.providers.find(methods.provider) if methods.provider else None
    if provider is None:
        raise NotFound("There is no such provider.")
    outcome = await start_attempt(
        get_sign_in_services(site), provider, build_address("account"),
        visitor=build_visitor(site, request),
        randomness=generate_randomness(), confirms_session=person.session_id,
    )  # fmt: skip
    if isinstance(outcome, ProviderUnavailable):
        return render_confirmation_page(site, request, provider, "AWAY", status=503)
    if isinstance(outcome, TooManyAttempts):
        minutes = count_minutes(outcome.retry_after)
        return render_confirmation_page(
            site, request, provider, "TOO_OFTEN", status=429, minutes=minutes
        )
    response = build_redirect(outcome.url)
    cookie = render_attempt_cookie(outcome.secret, is_secure=site.is_secure)
    response.headers.append("Set-Cookie", cookie)
    return response


def render_confirmation_page(
    site: PortalSite, request: PortalRequest, provider: IdentityProvider, failure: str, *,
    status: int, minutes: int = 0,
) -> Response:  # fmt: skip
    """Render the result of a confirmation. `failure` is "" if the session is confirmed."""
    page = ConfirmationPage(failure, provider.settings.display_name, minutes)
    return site.render_page(site.build_context(request), page, status)


# The sender is not authenticated yet. A logout token has a few kilobytes.
_MAX_LOGOUT_BYTES = 16 * 1024
# The maximum length of a query parameter that a provider returns.
_MAX_PARAMETER_LENGTH = 4_000


async def redirect_to_provider(site: PortalSite, request: PortalRequest) -> Response:
    """Redirect to the provider to sign in. Raises NotFound."""
    provider = _get_provider(site, request)
    next_page = choose_next_page(request.get_parameter("next"))
    outcome = await start_attempt(
        get_sign_in_services(site), provider, next_page,
        visitor=build_visitor(site, request), randomness=generate_randomness(),
    )  # fmt: skip
    if isinstance(outcome, ProviderUnavailable):
        page = build_sign_in_page(site, next_page, provider.settings.name)
        return _render_page(site, request, msgspec.structs.replace(page, fault="SSO_AWAY"), 503)
    if isinstance(outcome, TooManyAttempts):
        minutes = count_minutes(outcome.retry_after)
        page = msgspec.structs.replace(
            build_sign_in_page(site, next_page), fault="TOO_OFTEN", minutes=minutes
        )
        response = _render_page(site, request, page, 429)
        response.headers["Retry-After"] = str(outcome.retry_after)
        return response
    response = build_redirect(outcome.url)
    cookie = render_attempt_cookie(outcome.secret, is_secure=site.is_secure)
    response.headers.append("Set-Cookie", cookie)
    return response


async def finish_sign_on(site: PortalSite, request: PortalRequest) -> Response:
    """Finish the sign-in after the provider's redirect. The parameters can be used only once, and
    the response redirects away from them. Raises NotFound."""
    provider = _get_provider(site, request)
    returned = ProviderReturn(
        secret=get_attempt_secret(site, request),
        state=request.get_parameter("state")[:_MAX_PARAMETER_LENGTH],
        code=request.get_parameter("code")[: _MAX_PARAMETER_LENGTH + 1],
        error=request.get_parameter("error")[:_MAX_PARAMETER_LENGTH],
        issuer=request.find_parameter("iss"),
        visitor=build_visitor(site, request),
        randomness=generate_randomness(),
        session=get_session_secret(site, request),
    )
    outcome = await finish_attempt(get_sign_in_services(site), provider, returned)
    match outcome:
        case SignOnCompleted():
            await end_previous_session(site, request)
            response = start_browser_session(
                site, outcome.opened, choose_next_page(outcome.next_page)
            )
        case ConfirmationEnded(failure):
            # Load the user, because the page shows who is signed in.
            await site.find_person(request)
            response = render_confirmation_page(
                site, request, provider, str(failure or ""), status=403 if failure else 200
            )
        case SignOnRefused():
            title = provider.settings.display_name
            command = _render_link_command(outcome, provider.settings.name)
            page = SignOnRefusedPage(outcome.reason, title, outcome.claims.email, command)
            response = site.render_page(site.build_context(request), page, 403)
        case _:
            name = provider.settings.name
            response = build_redirect(
                build_address("sign_in", fault=f"SSO_{outcome}", provider=name)
            )
    if outcome is not SignOnFailure.GONE:
        cookie = render_attempt_cookie("", is_secure=site.is_secure)
        response.headers.append("Set-Cookie", cookie)
    return response


async def submit_logout_token(site: PortalSite, request: PortalRequest) -> Response:
    """Process a logout token that the provider sends itself, without a cookie. Raises NotFound."""
    provider, services = _get_provider(site, request), get_sign_in_services(site)
    body = await read_body(request, _MAX_LOGOUT_BYTES)
    tokens = parse_qs(body.decode("latin-1")).get("logout_token", [])
    token = tokens[0] if len(tokens) == 1 else ""
    claims = await provider.parse_logout_token(token, services.now())
    if isinstance(claims, ProviderUnavailable):
        return Response(None, 503, {"Retry-After": "30", "Cache-Control": "no-store"})
    is_accepted = not isinstance(claims, TokenRejected) and await process_logout(
        services, provider.settings.name, claims
    )
    if is_accepted:
        return Response(None, 200, {"Cache-Control": "no-store"})
    log_security_event("LOGOUT_FORGED")
    refusal = {"error": "invalid_request", "error_description": "The logout token is not valid."}
    return Response(
        json.dumps(refusal), 400, {"Cache-Control": "no-store"}, media_type="application/json"
    )


async def sign_out_at_provider(site: PortalSite, request: PortalRequest) -> Response:
    """Sign out at the provider too, if it has a URL for that. Raises NotFound."""
    provider = _get_provider(site, request)
    return_url = site.resources.settings.public_url + build_address("sign_in")
    address = await provider.find_logout_url(return_url, site.now())
    return build_redirect(address or build_address("sign_in"))


def _render_link_command(refusal: SignOnRefused, provider: str) -> str:
    """Return the command that links the user to the identity. The provider's values are quoted for
    the shell."""
    claims = refusal.claims
    words = ["link", claims.email, "--provider", provider, "--subject", claims.subject]
    return shlex.join(["dunwell", "user", *words])


def _render_page(
    site: PortalSite, request: PortalRequest, page: SignInPage, status: int
) -> Response:
    return site.render_page(site.build_context(request), page, status)


def _get_provider(site: PortalSite, request: PortalRequest) -> IdentityProvider:
    """Return the provider in the path. Raises NotFound."""
    provider = site.providers.find(request.path_params["provider"])
    if provider is None:
        raise NotFound("There is no such provider.")
    return provider


PAGES: RoutedPages = {
    "account_confirm": {"GET": redirect_to_confirmation},
    "account_confirm_ask": {"POST": send_passkey_options},
    "sso_start": {"GET": redirect_to_provider},
    "sso_back": {"GET": finish_sign_on},
    "sso_logout": {"POST": submit_logout_token},
    "sso_leave": {"GET": sign_out_at_provider},
}
