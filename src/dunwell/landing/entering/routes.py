"""The ways in: a message's link, and the code of a letter. Looking at them changes nothing."""

from dunwell.kit.db import Connection
from dunwell.landing.entering.open_sent import derive_sent_randomness, find_sent_value
from dunwell.landing.entering.proofs import AskCode, AskFact, Open, Way, decide_entry, find_policy
from dunwell.landing.entering.sent_codes import (
    Recipient,
    answer_code_field,
    answer_sent,
    read_typed_code,
)
from dunwell.landing.entering.store_tries import is_undelivered
from dunwell.landing.entering.tries import Locked, Wrong
from dunwell.landing.entering.try_code import try_code
from dunwell.landing.entering.try_fact import Asked, try_fact
from dunwell.landing.entering.try_sent_code import Right, Typed, try_sent_code
from dunwell.landing.entering.views import CodeField, CodePage, DeadLinkPage, describe_link
from dunwell.landing.entering.visitors import count_visitors_wrong, digest_visitor
from dunwell.landing.render.pages import Frame
from dunwell.landing.session.lookup import WayIn, find_link
from dunwell.landing.session.open_session import Opening, open_session
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.problems import answer_problem, too_many
from dunwell.landing.web.visit import Visit
from dunwell.messages.links import hash_token, is_token


async def show_code_entry(desk: Desk, visit: Visit) -> Answer:
    return desk.answer(desk.frame(visit), CodePage(tried=False))


async def enter_code(desk: Desk, visit: Visit) -> Answer:
    form = await visit.read_form()
    resources, frame = desk.resources, desk.frame(visit)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        found = await try_code(tx, resources.keys, form.get("code", ""), visitor, desk.now())
    if isinstance(found, Locked):
        return answer_problem(desk.pages, frame, too_many(found.retry_after_seconds))
    if isinstance(found, Wrong):
        return desk.answer(frame, CodePage(tried=True), 422)
    return await _open(desk, frame, found, found.level)


async def show_link(desk: Desk, visit: Visit) -> Answer:
    """Whoever looks, a scanner too, sees the creditor only, and what is asked for."""
    way = await _find_way(desk, visit)
    return _answer_dead_link(desk, visit) if way is None else _answer_link(desk, visit, way)


async def open_link(desk: Desk, visit: Visit) -> Answer:
    form = await visit.read_form()
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    frame, asked = _frame(desk, visit, way), _decide(way)
    if isinstance(asked, Open):
        return await _open(desk, frame, way, way.level)
    if not isinstance(asked, AskFact):
        return _answer_link(desk, visit, way)
    resources = desk.resources
    visitor = digest_visitor(resources.keys, visit.client_host)
    wanted = Asked(way.merchant.merchant_id, way.claim_id, way.known, asked.fact)
    async with resources.database.transaction() as tx:
        tried = await try_fact(tx, wanted, form, visitor, desk.now())
    if isinstance(tried, Locked):
        return answer_problem(desk.pages, frame, too_many(tried.retry_after_seconds, "LOCKED"))
    if isinstance(tried, Wrong):
        return _answer_link(desk, visit, way, is_wrong=True)
    return await _open(desk, frame, way, Level.FACT)


async def send_links_code(desk: Desk, visit: Visit) -> Answer:
    await visit.read_form()
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    asked, frame = _decide(way), _frame(desk, visit, way)
    if not isinstance(asked, AskCode):
        return desk.redirect(frame, "link", **_name_link(visit))
    recipient = Recipient(
        way.merchant, way.claim_id, asked.channel, way.known.addresses[asked.channel], "link"
    )
    field = CodeField(asked.channel, "link", _name_link(visit))
    return await answer_sent(desk, frame, recipient, field)


async def show_links_code(desk: Desk, visit: Visit) -> Answer:
    """The field for the code that was sent."""
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    return await _answer_links_code(desk, visit, way)


async def enter_links_code(desk: Desk, visit: Visit) -> Answer:
    form = await visit.read_form()
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    frame = _frame(desk, visit, way)
    if not isinstance(_decide(way), AskCode):
        return desk.redirect(frame, "link", **_name_link(visit))
    typed = read_typed_code(desk, visit, form, way.merchant.merchant_id, way.claim_id)
    async with desk.resources.database.transaction() as tx:
        tried = await _try_sent(desk, tx, way, typed)
    if isinstance(tried, Locked):
        return answer_problem(desk.pages, frame, too_many(tried.retry_after_seconds, "LOCKED"))
    if isinstance(tried, Wrong):
        return await _answer_links_code(desk, visit, way, is_wrong=True)
    return desk.redirect(frame, "claim", cookie=tried)


async def go_to_link(desk: Desk, visit: Visit) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    if not is_token(visit.parameters["token"]):
        return _answer_dead_link(desk, visit)
    return desk.redirect(desk.frame(visit), "link", **_name_link(visit))


def _answer_link(desk: Desk, visit: Visit, way: WayIn, *, is_wrong: bool = False) -> Answer:
    page = describe_link(visit.parameters["token"], _decide(way), is_wrong=is_wrong)
    return desk.answer(_frame(desk, visit, way), page, 422 if is_wrong else 200)


async def _answer_links_code(
    desk: Desk, visit: Visit, way: WayIn, *, is_wrong: bool = False
) -> Answer:
    asked, frame = _decide(way), _frame(desk, visit, way)
    if not isinstance(asked, AskCode):
        return desk.redirect(frame, "link", **_name_link(visit))
    async with desk.resources.database.connection() as connection:
        failed = await is_undelivered(connection, way.merchant.merchant_id, way.claim_id)
    field = CodeField(asked.channel, "link", _name_link(visit), is_undelivered=failed)
    return answer_code_field(desk, frame, field, is_wrong=is_wrong)


def _decide(way: WayIn) -> Way:
    configuration = way.merchant.configuration
    policy = find_policy(configuration, way.channel)
    return decide_entry(policy, way.known, way.channel, configuration.channels)


def _frame(desk: Desk, visit: Visit, way: WayIn) -> Frame:
    return desk.frame(visit, way.merchant, way.language)


def _name_link(visit: Visit) -> dict[str, str]:
    """For its addresses. What stands in it was found, or it is at least no more than a token."""
    return {"token": visit.parameters["token"]}


async def _find_way(desk: Desk, visit: Visit) -> WayIn | None:
    token_hash = hash_token(visit.parameters["token"])
    async with desk.resources.database.connection() as connection:
        return await find_link(connection, token_hash)


async def _open(desk: Desk, frame: Frame, way: WayIn, level: Level) -> Answer:
    """A new session, whatever cookie the visitor brought."""
    async with desk.resources.database.transaction() as tx:
        value = await _open_in(desk, tx, way, level, desk.draw_randomness())
    return desk.redirect(frame, "claim", cookie=value)


async def _try_sent(desk: Desk, tx: Connection, way: WayIn, typed: Typed) -> str | Wrong | Locked:
    """The cookie's value."""
    keys, now = desk.resources.keys, desk.now()
    tried = await try_sent_code(tx, keys, typed, now)
    if not isinstance(tried, Right):
        return tried
    assert tried.notice_id is not None
    randomness = derive_sent_randomness(keys, tried.notice_id, typed.visitor)
    if not tried.is_repeated:
        return await _open_in(desk, tx, way, Level.CODE, randomness)
    value = await find_sent_value(tx, randomness, now)
    return value or await count_visitors_wrong(tx, typed.visitor, now)


async def _open_in(desk: Desk, tx: Connection, way: WayIn, level: Level, randomness: bytes) -> str:
    """The cookie's value."""
    session_id = desk.resources.ids.new(desk.now())
    opening = Opening(
        way.claim_id, way.communication_id, way.channel, level, session_id, randomness
    )
    work = desk.work(tx, way.merchant, session_id)
    return await open_session(work, desk.resources.keys, opening)


def _answer_dead_link(desk: Desk, visit: Visit) -> Answer:
    """The same for links that were and links that never were."""
    return desk.answer(desk.frame(visit), DeadLinkPage(), 410)
