"""Guards of the portal's handlers. Each guard passes the signed-in user, or the user's access to
the merchant in the URL, to its handler, or answers the request without running the handler.

    handler                       runs for
    (site, request)               everyone
    signed_in(handler)            signed-in users
    at_merchant(handler)          users with access to the merchant; for others it is not found
    takes_form, takes_form_at...  the same, for a form with the token of the session
    in_preview_turn(handler)      inside `at_merchant`: one page at a time for each user

Anyone may send a small form, such as the one for signing in. A large form is read only with the
cookie of a session. The session may have ended; then the form is read so that its user can see it
again. Without such a cookie, nothing is read and the user is asked to sign in. The handler checks
that the session is still valid after the whole form has arrived, however slowly it was sent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import wraps
from typing import TypeAlias, TypeVar

from starlette.responses import Response

from dunwell.accounts.users.sessions.sessions import find_session_user
from dunwell.accounts.users.user import SignedInUser
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.stale_forms import (
    delete_typed_values,
    render_stale_form_page,
    restore_typed_values,
)
from dunwell.interfaces.web.forms import FormFields

_Form = TypeVar("_Form")
# Enough for a password, a code, or the response of a passkey.
_MAX_SMALL_FORM_BYTES = 8 * 1024


@asynccontextmanager
async def open_form(
    site: PortalSite,
    request: PortalRequest,
    read: Callable[[], Awaitable[_Form]],
    without_session: _Form,
) -> AsyncIterator[_Form]:
    """Yield the form that `read` returns, or `without_session` for a large form without a
    session cookie. A large form counts against the limits of forms in memory until the block
    ends. Raises what `read` raises, and RateLimited."""
    if _is_small(request):
        yield await read()
        return
    secret = site.get_session_secret(request)
    async with site.resources.database.connection() as connection:
        user_id = await find_session_user(connection, secret) if secret else None
    if user_id is None:
        yield without_session
        return
    with ExitStack() as limits:
        limits.enter_context(site.forms_of_user.hold(user_id))
        limits.enter_context(site.forms_of_all.hold(None))
        yield await read()


def _is_small(request: PortalRequest) -> bool:
    """Return whether the form announces a small length. A form without a length counts as large."""
    announced = request.headers.get("content-length", "0")
    is_announced = announced.isdecimal() and "transfer-encoding" not in request.headers
    return is_announced and int(announced) <= _MAX_SMALL_FORM_BYTES


RouteHandler: TypeAlias = Callable[[PortalSite, PortalRequest], Awaitable[Response]]
# The handlers of pages, by the page's name and the method.
RoutedPages: TypeAlias = Mapping[str, Mapping[str, RouteHandler]]
Handler: TypeAlias = Callable[[PortalSite, PortalRequest, SignedInUser], Awaitable[Response]]
FormHandler: TypeAlias = Callable[
    [PortalSite, PortalRequest, SignedInUser, FormFields], Awaitable[Response]
]
MerchantHandler: TypeAlias = Callable[
    [PortalSite, PortalRequest, MerchantAccess], Awaitable[Response]
]
MerchantFormHandler: TypeAlias = Callable[
    [PortalSite, PortalRequest, MerchantAccess, FormFields], Awaitable[Response]
]


def signed_in(handler: Handler) -> RouteHandler:
    @wraps(handler)
    async def run(site: PortalSite, request: PortalRequest) -> Response:
        person = await site.find_person(request)
        if person is None:
            return site.redirect_to_sign_in(request)
        response = await handler(site, request, person)
        return (
            await restore_typed_values(site, request, person, response)
            if person.has_kept_forms
            else response
        )

    return run


def takes_form(handler: FormHandler) -> RouteHandler:
    @wraps(handler)
    async def run(site: PortalSite, request: PortalRequest) -> Response:
        async with open_form(site, request, request.read_session_form, FormFields({})) as fields:
            person = await site.find_person(request)
            if person is None or not person.is_form_token(fields["token"]):
                return await render_stale_form_page(site, request, fields, person)
            response = await handler(site, request, person, fields)
            if person.has_kept_forms and response.status_code == 303:
                await delete_typed_values(site, request, person)
            return response

    return run


def at_merchant(handler: MerchantHandler) -> RouteHandler:
    @signed_in
    @wraps(handler)
    async def run(site: PortalSite, request: PortalRequest, person: SignedInUser) -> Response:
        return await handler(site, request, await site.get_merchant_access(request, person))

    return run


def in_preview_turn(handler: MerchantHandler) -> MerchantHandler:
    """Run a handler that renders one message or simulates one claim when it is the user's turn,
    within the limits of `PreviewTurns`."""

    @wraps(handler)
    async def run(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> Response:
        user_id = access.person.user_id
        return await site.previews.run(request, user_id, lambda: handler(site, request, access))

    return run


def takes_form_at_merchant(handler: MerchantFormHandler) -> RouteHandler:
    @takes_form
    @wraps(handler)
    async def run(
        site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
    ) -> Response:
        return await handler(site, request, await site.get_merchant_access(request, person), fields)

    return run
