"""Stays for another hour: the new session's cookie, also for a form that comes twice.

A second click brings the old cookie, which opens nothing any more, or the new one with the old
form. Either finds it done; whoever brings the old cookie without its form gets nothing.
"""

from collections.abc import Mapping

from dunwell.interfaces.landing.session.extend_session import (
    REPEATED_WITHIN,
    extend_session,
    find_extended_value,
    is_extended_by,
)
from dunwell.interfaces.landing.session.session import is_form_token
from dunwell.interfaces.landing.session.store_opened import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.crypto import sha256


async def stay(site: DebtorSite, opened: OpenedClaim) -> str | None:
    """The new session's cookie. None: it has ended meanwhile."""
    keys, session_id = site.resources.keys, site.resources.ids.new(site.now())
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        return await extend_session(work, keys, opened.session, session_id)


async def find_stayed(site: DebtorSite, opened: OpenedClaim) -> str | None:
    """The cookie of the session that took this one's place a moment ago; for who brings a form of
    this one alone (`is_its_form`)."""
    keys, session_hash = site.resources.keys, opened.session.session_hash
    async with site.resources.database.connection() as connection:
        return await find_extended_value(connection, keys, session_hash, site.now())


async def find_opened_by(site: DebtorSite, value: str) -> OpenedClaim | None:
    """What a new session's cookie opens."""
    async with site.resources.database.connection() as connection:
        return await load_opened_claim(connection, sha256(value.encode()))


def is_its_form(site: DebtorSite, opened: OpenedClaim, form: Mapping[str, str]) -> bool:
    keys, session_hash = site.resources.keys, opened.session.session_hash
    return is_form_token(keys, session_hash, form.get("token", ""))


def is_repeated(site: DebtorSite, opened: OpenedClaim, form: Mapping[str, str]) -> bool:
    """Whether the session was opened by this form a moment ago: the first answer's cookie was there
    before the second click. Later it is somebody who went back to the form, and asks for another
    hour."""
    is_extended = is_extended_by(site.resources.keys, opened.session, form.get("token", ""))
    return is_extended and site.now() < opened.session.opened_at + REPEATED_WITHIN
