"""Whose large form is read, and how many at once. Anybody may send a small one, as those who sign
in do; a large one is read only with the cookie of a session.

The session may have ended, so that what somebody typed for an hour is shown to them again; whoever
sends one that never was is asked to sign in, and nothing is read. Whether the session lasts is
looked up by the form's handler, when all of it has come: whatever ends a session ends it at once,
however slowly a form is sent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

from dunwell.accounts.users.sessions.sessions import find_session_user
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite

_Form = TypeVar("_Form")
# What is read of anybody: a password, a code, what a passkey answers.
_MOST_SMALL_BYTES = 8 * 1024


@asynccontextmanager
async def read_form(
    site: PortalSite, visit: PortalRequest, read: Callable[[], Awaitable[_Form]], unread: _Form
) -> AsyncIterator[_Form]:
    """What `read` reads, held in memory until the block ends; `unread` for a large form of a
    stranger. Raises what `read` raises, and RateLimited."""
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
