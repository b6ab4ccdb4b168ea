"""Joining by a one-time link. Opening it changes nothing; one form takes all of it."""

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
    find_visitor,
    generate_randomness,
    has_passkeys,
    read_opener,
    receive,
    remember_opener,
    show_app,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import Faults, InvitationGonePage, InvitationPage
from dunwell.interfaces.portal.web.guards import RoutedPages
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.platform.errors import NotFound


async def show_invitation(site: PortalSite, visit: PortalRequest) -> Response:
    return await _tell(site, visit, {}, 200)


async def join(site: PortalSite, visit: PortalRequest) -> Response:
    form = await visit.read_form()
    password, again = form.get("password", ""), form.get("password_again", "")
    joining = InvitationForm(
        link=visit.path_params["link"],
        opener=read_opener(site, visit),
        visitor=find_visitor(site, visit),
        randomness=generate_randomness(),
        password=password,
        code=form.get("code", "")[:100],
    )
    if password != again:
        return await _tell_different(site, visit, joining)
    return await _go_on(site, visit, await accept_with_app(receive(site), joining))


async def _tell_different(
    site: PortalSite, visit: PortalRequest, joining: InvitationForm
) -> Response:
    invited = await find_invitation(receive(site), joining.link, joining.opener)
    if invited is None:
        return _tell_gone(site, visit)
    faults = await find_form_faults(receive(site), invited, joining)
    return await _tell(site, visit, {**faults, "password_again": "DIFFERENT"})


async def ask_browser(site: PortalSite, visit: PortalRequest) -> Response:
    """What the page's script asks a passkey to be made for. Raises NotFound."""
    await visit.read_form()
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await start_passkey_registration(receive(site), visit.path_params["link"], challenge)
    if options is None:
        raise NotFound("This link is good no more.")
    return Response(options, media_type="application/json")


async def join_by_passkey(site: PortalSite, visit: PortalRequest) -> Response:
    form = await visit.read_form()
    joining = InvitationForm(
        link=visit.path_params["link"],
        opener=read_opener(site, visit),
        visitor=find_visitor(site, visit),
        randomness=generate_randomness(),
        passkey=form.get("answer", "").encode(),
    )
    return await _go_on(site, visit, await accept_with_passkey(receive(site), joining))


async def _go_on(
    site: PortalSite, visit: PortalRequest,
    outcome: OpenedSession | InvitationFault | Mapping[str, InvitationFault | PasswordFault],
) -> Response:  # fmt: skip
    if isinstance(outcome, OpenedSession):
        return start_browser_session(site, outcome, build_address("account_codes"))
    if outcome is InvitationFault.LINK:
        return _tell_gone(site, visit)
    return await _tell(
        site, visit, {"": outcome} if isinstance(outcome, InvitationFault) else outcome
    )


async def _tell(
    site: PortalSite, visit: PortalRequest, faults: Faults, status: int = 400
) -> Response:
    """The form, with the secret of an app that is this browser's alone."""
    opener = read_opener(site, visit)
    invited = await find_invitation(receive(site), visit.path_params["link"], opener)
    if invited is None:
        return _tell_gone(site, visit)
    answer = _show(site, visit, invited=invited, faults=faults, status=status)
    remember_opener(site, answer, opener)
    return answer


def _show(
    site: PortalSite, visit: PortalRequest, invited: OpenInvitation, faults: Faults, status: int
) -> Response:
    app = show_app(invited.app_secret, invited.user.email)
    page = InvitationPage(
        link=visit.path_params["link"],
        name=invited.user.name,
        email=invited.user.email,
        secret=app.secret,
        code_image=app.code_image,
        address=app.address,
        faults=faults,
        has_passkeys=has_passkeys(site),
    )
    return site.answer(site.frame(visit), page, status)


def _tell_gone(site: PortalSite, visit: PortalRequest) -> Response:
    return site.answer(site.frame(visit), InvitationGonePage(), 410)


PAGES: RoutedPages = {
    "invitation": {"GET": show_invitation, "POST": join},
    "invitation_ask": {"POST": ask_browser},
    "invitation_passkey": {"POST": join_by_passkey},
}
