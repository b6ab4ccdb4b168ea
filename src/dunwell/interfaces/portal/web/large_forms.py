"""Limits for reading large forms. Anyone may send a small form, such as the one for signing in. A
large form is read only with the cookie of a session.

The session may have ended; then the form is read so that its user can see it again. Without such a
cookie, nothing is read and the user is asked to sign in. The handler checks that the session is
still valid after the whole form has arrived, however slowly it was sent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

from dunwell.accounts.users.sessions.sessions import find_session_user
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite

_Form = TypeVar("_Form")
# Enough for a password, a code, or the response of a passkey.
_MOST_SMALL_BYTES = 8 * 1024


@asynccontextmanager
async def read_form(
    site: PortalSite, visit: PortalRequest, read: Callable[[], Awaitable[_Form]], unread: _Form
) -> AsyncIterator[_Form]:
    """Return what `read` reads, held in memory until the block ends, or `unread` for a large form
    without a session. Raises what `read` raises, and RateLimited."""
    if _is_small(visit):
        yield await read()
        return
    secret = site.read_secret(visit)
    async with site.resources.database.connection() as connection:
        user_id = await find_session_user(connection, secret) if secret else None
    if user_id is None:
        yield unread
        return
    with ExitStack() as holding:
        holding.enter_context(site.forms_of_user.hold(user_id))
        holding.enter_context(site.forms_of_all.hold(None))
        yield await read()


def _is_small(visit: PortalRequest) -> bool:
    announced = visit.headers.get("content-length", "0")
    is_announced = announced.isdecimal() and "transfer-encoding" not in visit.headers
    return is_announced and int(announced) <= _MOST_SMALL_BYTES
