"""Raising what a session shows: a known fact, a letter's code, a code to the address on file."""

from collections.abc import Mapping

from dunwell.kit.db import Connection
from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.desk import Desk
from dunwell.landing.in_session import in_session, takes_form
from dunwell.landing.lookup import OpenedClaim, load_known
from dunwell.landing.problems import answer_problem, too_many
from dunwell.landing.proofs import Fact, Known, choose_fact, find_code_channel, find_policy
from dunwell.landing.raise_session import raise_session
from dunwell.landing.routes.sent_codes import (
    Recipient,
    answer_code_field,
    answer_sent,
    read_typed_code,
)
from dunwell.landing.session import Level
from dunwell.landing.tries import Locked, Wrong
from dunwell.landing.try_code import try_code
from dunwell.landing.try_fact import Asked, try_fact
from dunwell.landing.try_sent_code import Right, try_sent_code
from dunwell.landing.visit import Form, Visit
from dunwell.landing.visitors import digest_visitor
from dunwell.notices.notice import NoticeChannel

# By its name, the page a reader comes back to, and what it needs. No address from outside is one.
PLACES: Mapping[str, tuple[str, Level]] = {
    "claim": ("/claim", Level.FACT),
    "documents": ("/claim/documents", Level.FACT),
    "options": ("/claim/options", Level.FACT),
    "plan": ("/claim/plan", Level.FACT),
    "later": ("/claim/later", Level.FACT),
    "help": ("/claim/help", Level.FACT),
    "reach": ("/claim/preferences", Level.FACT),
    "dispute": ("/claim/dispute", Level.FACT),
    "preferences": ("/claim/preferences", Level.CODE),
}


async def go_to_place(desk: Desk, visit: Visit) -> Answer:
    name = visit.read_query("for") or ""
    return desk.redirect(desk.frame(visit), f"/claim/verify/{name if name in PLACES else 'claim'}")


async def go_to_verify(desk: Desk, visit: Visit) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return desk.redirect(desk.frame(visit), _address(visit))


@in_session
async def show_verify(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    path, needed = _find_place(visit)
    if opened.session.level.reaches(needed):
        return desk.redirect(desk.frame_opened(visit, opened), path)
    return await _answer_verify(desk, visit, opened)


@takes_form
async def enter_fact(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    session, keys = opened.session, desk.resources.keys
    async with desk.resources.database.transaction() as tx:
        known = await load_known(tx, session.merchant_id, session.claim_id)
        fact = _choose_fact(opened, known)
        if fact is None:
            return desk.redirect(desk.frame_opened(visit, opened), _address(visit))
        wanted = Asked(session.merchant_id, session.claim_id, known, fact)
        visitor = digest_visitor(keys, visit.client_host)
        tried = await try_fact(tx, wanted, form, visitor, desk.now())
    if tried is None:
        return await _raise(desk, visit, opened, Level.FACT)
    return await _answer_tried(desk, visit, opened, tried, "FACT")


@takes_form
async def enter_letters_code(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    session, keys = opened.session, desk.resources.keys
    visitor = digest_visitor(keys, visit.client_host)
    async with desk.resources.database.transaction() as tx:
        tried = await try_code(
            tx, keys, form.get("code", ""), visitor, desk.now(),
            only=(session.merchant_id, session.claim_id),
        )  # fmt: skip
    if isinstance(tried, Wrong | Locked):
        return await _answer_tried(desk, visit, opened, tried, "LETTER")
    return await _raise(desk, visit, opened, Level.FACT)


@takes_form
async def send(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    session, frame = opened.session, desk.frame_opened(visit, opened)
    async with desk.resources.database.connection() as connection:
        known = await load_known(connection, session.merchant_id, session.claim_id)
    channel = _find_channel(opened, known)
    if channel is None:
        return desk.redirect(frame, _address(visit))
    recipient = Recipient(
        opened.merchant, session.claim_id, channel, known.addresses[channel],
        str(session.session_id),
    )  # fmt: skip
    return await answer_sent(desk, frame, recipient, _address(visit))


@in_session
async def show_sent(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    return await _answer_code_field(desk, visit, opened, is_wrong=False)


@takes_form
async def enter_sent(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    session = opened.session
    typed = read_typed_code(desk, visit, form, session.merchant_id, session.claim_id)
    async with desk.resources.database.transaction() as tx:
        tried = await try_sent_code(tx, desk.resources.keys, typed, desk.now())
        value = None
        if isinstance(tried, Right) and not tried.is_repeated:
            value = await _raise_in(desk, tx, opened, Level.CODE)
    if isinstance(tried, Locked):
        return await _answer_tried(desk, visit, opened, tried, "CODE")
    # A repeated form's session goes under the cookie that answered the first; another session that
    # knows the code a moment later is not raised by it.
    still = None if value else await desk.find_opened(visit)
    if isinstance(tried, Wrong) or (tried.is_repeated and still and not _shows_all(still)):
        return await _answer_code_field(desk, visit, opened, is_wrong=True)
    if value is None and not tried.is_repeated:
        return desk.answer_ended(visit, still)
    path, _ = _find_place(visit)
    return desk.redirect(desk.frame_opened(visit, opened), path, cookie=value)


def _shows_all(opened: OpenedClaim) -> bool:
    return opened.session.level.reaches(Level.CODE)


async def _raise(desk: Desk, visit: Visit, opened: OpenedClaim, level: Level) -> Answer:
    path, _ = _find_place(visit)
    frame = desk.frame_opened(visit, opened)
    if opened.session.level.reaches(level):
        return desk.redirect(frame, path)
    async with desk.resources.database.transaction() as tx:
        value = await _raise_in(desk, tx, opened, level)
    if value is None:
        return desk.answer_ended(visit, await desk.find_opened(visit))
    return desk.redirect(frame, path, cookie=value)


async def _raise_in(desk: Desk, tx: Connection, opened: OpenedClaim, level: Level) -> str | None:
    """The new cookie's value; none when the session has ended or was raised meanwhile."""
    work = desk.work(tx, opened.merchant, opened.session.session_id)
    return await raise_session(work, opened.session, level, desk.draw_randomness(), desk.now())


async def _answer_tried(
    desk: Desk, visit: Visit, opened: OpenedClaim, tried: Wrong | Locked, wrong: str
) -> Answer:
    """`wrong`: which of the page's forms did not fit."""
    if isinstance(tried, Locked):
        problem = too_many(tried.retry_after_seconds, "LOCKED")
        return answer_problem(desk.pages, desk.frame_opened(visit, opened), problem)
    return await _answer_verify(desk, visit, opened, wrong)


async def _answer_verify(
    desk: Desk, visit: Visit, opened: OpenedClaim, wrong: str | None = None
) -> Answer:
    session = opened.session
    async with desk.resources.database.connection() as connection:
        known = await load_known(connection, session.merchant_id, session.claim_id)
    _, needed = _find_place(visit)
    body = desk.pages.render(
        "verify.html", desk.frame_opened(visit, opened), address=_address(visit), needed=needed,
        fact=_choose_fact(opened, known), channel=_find_channel(opened, known), wrong=wrong,
    )  # fmt: skip
    return answer_page(body, 422 if wrong else 200)


async def _answer_code_field(
    desk: Desk, visit: Visit, opened: OpenedClaim, *, is_wrong: bool
) -> Answer:
    session, frame = opened.session, desk.frame_opened(visit, opened)
    async with desk.resources.database.connection() as connection:
        known = await load_known(connection, session.merchant_id, session.claim_id)
    channel = _find_channel(opened, known)
    if channel is None:
        return desk.redirect(frame, _address(visit))
    return answer_code_field(desk, frame, channel, _address(visit), is_wrong=is_wrong)


def _choose_fact(opened: OpenedClaim, known: Known) -> Fact | None:
    policy = find_policy(opened.merchant.configuration, opened.session.channel)
    return choose_fact(policy, known)


def _find_channel(opened: OpenedClaim, known: Known) -> NoticeChannel | None:
    channels = opened.merchant.configuration.channels
    return find_code_channel(known, opened.session.channel, channels)


def _find_place(visit: Visit) -> tuple[str, Level]:
    return PLACES.get(visit.parameters["place"], PLACES["claim"])


def _address(visit: Visit) -> str:
    place = visit.parameters["place"]
    return f"/claim/verify/{place if place in PLACES else 'claim'}"
