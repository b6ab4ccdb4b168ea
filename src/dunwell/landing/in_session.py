"""Handlers of pages about an opened claim: each gets it from a live session, or is not run."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TypeAlias

from dunwell.landing.answer import Answer
from dunwell.landing.desk import Desk
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.visit import Form, Visit

Run: TypeAlias = Callable[[Desk, Visit], Awaitable[Answer]]
Show: TypeAlias = Callable[[Desk, Visit, OpenedClaim], Awaitable[Answer]]
Take: TypeAlias = Callable[[Desk, Visit, OpenedClaim, Form], Awaitable[Answer]]


def in_session(show: Show) -> Run:
    """Without a live session the page says why there is none."""

    @wraps(show)
    async def run(desk: Desk, visit: Visit) -> Answer:
        opened = await desk.find_opened(visit)
        if opened is None or not desk.is_live(opened):
            return desk.answer_ended(visit, opened)
        return await show(desk, visit, opened)

    return run


def takes_form(take: Take) -> Run:
    """A form of the session's own; one of anybody else's is refused before anything is done."""

    @wraps(take)
    async def run(desk: Desk, visit: Visit) -> Answer:
        form, opened = await visit.read_form(), await desk.find_opened(visit)
        if opened is None or not desk.is_live(opened):
            return desk.answer_ended(visit, opened)
        desk.check_token(opened.session, form)
        return await take(desk, visit, opened, form)

    return run
