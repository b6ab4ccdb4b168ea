"""What a page that asks "Confirm it is you" leads to: a passkey's challenge, and the provider of
single sign-on. The page itself is `portal.web.confirming`.
"""

import secrets

from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.sessions.confirm_session import (
    ask_passkey_to_confirm,
    find_confirmation_ways,
)
from dunwell.accounts.users.sign_in.sign_in import TooOften
from dunwell.accounts.users.single_sign_on.provider import Away, IdentityProvider
from dunwell.accounts.users.single_sign_on.start_attempt import start_attempt
from dunwell.accounts.users.user import SignedIn
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.users.door import (
    count_minutes,
    draw_randomness,
    find_visitor,
    receive,
    render_attempt_cookie,
)
from dunwell.interfaces.portal.users.views import ConfirmationPage
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect
from dunwell.platform.errors import NotFound


@takes_form
async def ask_browser(
    site: PortalSite, _visit: PortalRequest, person: SignedIn, _fields: FormFields
) -> Response:
    """Return what the page's script asks a passkey."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    options = await ask_passkey_to_confirm(receive(site), person, challenge)
    return Response(options, media_type="application/json")


@signed_in
async def send_there(site: PortalSite, visit: PortalRequest, person: SignedIn) -> Response:
    """Redirect to the provider that the person signs in with. Raises NotFound."""
    async with receive(site).work(person.actor) as work:
        ways = await find_confirmation_ways(work, person)
    provider = site.providers.find(ways.provider) if ways.provider else None
    if provider is None:
        raise NotFound("There is no such provider.")
    outcome = await start_attempt(
        receive(site), provider, build_address("account"), visitor=find_visitor(site, visit),
        randomness=draw_randomness(), confirms_session=person.session_id,
    )  # fmt: skip
    if isinstance(outcome, Away):
        return show_failure(site, visit, provider, "AWAY", status=503)
    if isinstance(outcome, TooOften):
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


PAGES: RoutedPages = {
    "account_confirm": {"GET": send_there},
    "account_confirm_ask": {"POST": ask_browser},
}
