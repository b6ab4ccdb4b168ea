"""Accepting an invitation by a one-time link. Opening the link changes nothing; one form sets the
password and the second factor."""

import secrets
from collections.abc import Mapping

from starlette.responses import Response

from dunwell.accounts.users.accept_invitation import (
    InvitationFault,
    InvitationForm,
    OpenInvitation,
    accept_with_app,
    accept_with_passkey,
    find_form_faults,
    find_invitation,
    start_passkey_registration,
)
from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.passwords import PasswordFault
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.users.sign_in_cookies import (
    build_app_setup,
    build_visitor,
    generate_randomness,
    get_opener_secret,
    get_sign_in_services,
    has_passkeys,
    set_opener_cookie,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import Faults, InvitationGonePage, InvitationPage
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.platform.errors import NotFound


async def get_invitation_page(site: PortalSite, request: PortalRequest) -> Response:
    return await _render_form(site, request, {}, 200)


async def submit_invitation_form(site: PortalSite, request: PortalRequest) -> Response:
    form = await request.read_form()
    password, repeated_password = form.get("password", ""), form.get("password_again", "")
    form_data = InvitationForm(
        link=request.path_params["link"],
        opener=get_opener_secret(site, request),
        visitor=build_visitor(site, request),
        randomness=generate_randomness(),
        password=password,
        code=form.get("code", "")[:100],
    )
    if password != repeated_password:
        return await _render_password_mismatch(site, request, form_data)
    return await _answer_outcome(
        site, request, await accept_with_app(get_sign_in_services(site), form_data)
    )


async def _render_password_mismatch(
    site: PortalSite, request: PortalRequest, form_data: InvitationForm
) -> Response:
    invited = await find_invitation(get_sign_in_services(site), form_data.link, form_data.opener)
    if invited is None:
        return _render_expired_page(site, request)
    faults = await find_form_faults(get_sign_in_services(site), invited, form_data)
    return await _render_form(site, request, {**faults, "password_again": "DIFFERENT"})


async def send_passkey_options(site: PortalSite, request: PortalRequest) -> Response:
    """Return the options with which the page's script creates a passkey. Raises NotFound."""
    await request.read_form()
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_registration(
        get_sign_in_services(site), request.path_params["link"], challenge
    )
    if options is None:
        raise NotFound("This link is no longer valid.")
    return Response(options, media_type="application/json")


async def submit_invitation_passkey(site: PortalSite, request: PortalRequest) -> Response:
    form = await request.read_form()
    form_data = InvitationForm(
        link=request.path_params["link"],
        opener=get_opener_secret(site, request),
        visitor=build_visitor(site, request),
        randomness=generate_randomness(),
        passkey=form.get("answer", "").encode(),
    )
    return await _answer_outcome(
        site, request, await accept_with_passkey(get_sign_in_services(site), form_data)
    )


async def _answer_outcome(
    site: PortalSite, request: PortalRequest,
    outcome: OpenedSession | InvitationFault | Mapping[str, InvitationFault | PasswordFault],
) -> Response:  # fmt: skip
    if isinstance(outcome, OpenedSession):
        return start_browser_session(site, outcome, build_address("account_codes"))
    if outcome is InvitationFault.LINK:
        return _render_expired_page(site, request)
    return await _render_form(
        site, request, {"": outcome} if isinstance(outcome, InvitationFault) else outcome
    )


async def _render_form(
    site: PortalSite, request: PortalRequest, faults: Faults, status: int = 400
) -> Response:
    """Render the form, with an app secret that only this browser gets."""
    opener = get_opener_secret(site, request)
    invited = await find_invitation(get_sign_in_services(site), request.path_params["link"], opener)
    if invited is None:
        return _render_expired_page(site, request)
    response = _render_page(site, request, invited=invited, faults=faults, status=status)
    set_opener_cookie(site, response, opener)
    return response


def _render_page(
    site: PortalSite, request: PortalRequest, invited: OpenInvitation, faults: Faults, status: int
) -> Response:
    app = build_app_setup(invited.app_secret, invited.user.email)
    page = InvitationPage(
        link=request.path_params["link"],
        name=invited.user.name,
        email=invited.user.email,
        secret=app.secret,
        code_image=app.code_image,
        address=app.address,
        faults=faults,
        has_passkeys=has_passkeys(site),
    )
    return site.render_page(site.build_context(request), page, status)


def _render_expired_page(site: PortalSite, request: PortalRequest) -> Response:
    return site.render_page(site.build_context(request), InvitationGonePage(), 410)


PAGES: RoutedPages = {
    "invitation": {"GET": get_invitation_page, "POST": submit_invitation_form},
    "invitation_ask": {"POST": send_passkey_options},
    "invitation_passkey": {"POST": submit_invitation_passkey},
}
