"""Takes forms that prove something and so raise what a session shows, also when they come twice.

The second of two clicks sends the old cookie, which opens nothing any more. Within ten seconds it
gets another valid cookie for the same proof, because the browser may have dropped the first answer.
The old cookie without the proof gets nothing, not even the reason.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from dunwell.interfaces.landing.entering.tries import Locked, Slowed, Wrong
from dunwell.interfaces.landing.entering.try_sent_code import Right
from dunwell.interfaces.landing.session.raise_session import raise_session, repeat_raise
from dunwell.interfaces.landing.session.session import Level, is_form_token
from dunwell.interfaces.landing.session.store import find_successor
from dunwell.interfaces.landing.session.store_opened import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.requests import ForeignForm
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class Brought:
    """A form of a live session, or of one that lives on under another cookie (`is_late`)."""

    site: DebtorSite
    visit: DebtorRequest
    opened: OpenedClaim
    form: FormFields
    session_hash: bytes

    @property
    def is_late(self) -> bool:
        return self.opened.session.session_hash != self.session_hash


@dataclass(frozen=True, slots=True)
class Raised:
    """`value`: the cookie's; none: the browser has it already."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The session has ended, or this cookie never was one's."""


Tried: TypeAlias = Right | Wrong | Locked | Slowed
# None: there is nothing this claim could be asked for.
Prove: TypeAlias = Callable[[Connection, Brought], Awaitable[Tried | None]]


async def take_proof(
    site: DebtorSite, visit: DebtorRequest, level: Level, prove: Prove
) -> tuple[OpenedClaim | None, Raised | Wrong | Locked | Slowed | Ended | None]:
    """The visitor's session with what came of the form; the session is none when it was not to be
    had by the cookie alone. Raises ForeignForm."""
    form, opened = await visit.read_session_form(), await site.find_opened(visit)
    brought = await _find_brought(site, visit, form, opened)
    if brought is None:
        return opened, Ended()
    session = brought.opened.session
    if not brought.is_late and session.level.reaches(level):
        # The first answer's cookie was there before the second click; the form is the old one.
        return opened, Raised(None)
    if not is_form_token(site.resources.keys, brought.session_hash, form.get("token", "")):
        raise ForeignForm("The form belongs to another session.")
    async with site.resources.database.transaction() as tx:
        tried = await prove(tx, brought)
        value = await _raise(tx, brought, level, tried) if isinstance(tried, Right) else None
    if value is not None:
        return opened, Raised(value)
    if brought.is_late:
        return None, Ended()
    if not isinstance(tried, Right):
        return opened, tried
    # Another session of the claim has used the code up a moment ago; or this one has ended.
    still = await site.find_opened(visit)
    return still, Wrong() if site.is_live(still) else Ended()


async def _find_brought(
    site: DebtorSite, visit: DebtorRequest, form: FormFields, opened: OpenedClaim | None
) -> Brought | None:
    session_hash = visit.session_hash
    if session_hash is None:
        return None
    if opened is None:
        async with site.resources.database.connection() as connection:
            successor = await find_successor(connection, session_hash, site.now())
            if successor is not None:
                opened = await load_opened_claim(connection, successor.session_hash)
    if opened is None or not site.is_live(opened):
        return None
    return Brought(site=site, visit=visit, opened=opened, form=form, session_hash=session_hash)


async def _raise(tx: Connection, brought: Brought, level: Level, tried: Right) -> str | None:
    site = brought.site
    session = msgspec.structs.replace(brought.opened.session, session_hash=brought.session_hash)
    work = site.work(tx, brought.opened.merchant, session.session_id)
    randomness = site.draw_randomness()
    if tried.is_repeated:
        return await repeat_raise(work, brought.session_hash, level, randomness=randomness)
    return await raise_session(
        work, session, level, randomness=randomness, proven=tried.proven_digests
    )
