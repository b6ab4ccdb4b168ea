"""The ways in: a message's link, and the code of a letter. Looking at them changes nothing."""

from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.desk import Desk
from dunwell.landing.lookup import WayIn, find_link
from dunwell.landing.open_session import Opening, open_session
from dunwell.landing.pages import Frame
from dunwell.landing.problems import answer_problem, too_many
from dunwell.landing.try_code import Locked, Wrong, digest_visitor, try_code
from dunwell.landing.visit import Visit
from dunwell.messages.links import hash_token


async def show_code_entry(desk: Desk, visit: Visit) -> Answer:
    return answer_page(desk.pages.render("code.html", desk.frame(visit), tried=False))


async def enter_code(desk: Desk, visit: Visit) -> Answer:
    form = await visit.read_form()
    resources, frame = desk.resources, desk.frame(visit)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        found = await try_code(tx, resources.keys, form.get("code", ""), visitor, desk.now())
    if isinstance(found, Locked):
        return answer_problem(desk.pages, frame, too_many(found.retry_after_seconds))
    if isinstance(found, Wrong):
        return answer_page(desk.pages.render("code.html", frame, tried=True), 422)
    return await _open(desk, frame, found)


async def show_link(desk: Desk, visit: Visit) -> Answer:
    """Whoever looks, a scanner too, sees the creditor only."""
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    frame = desk.frame(visit, way.merchant, way.language)
    return answer_page(desk.pages.render("link.html", frame))


async def open_link(desk: Desk, visit: Visit) -> Answer:
    await visit.read_form()
    way = await _find_way(desk, visit)
    if way is None:
        return _answer_dead_link(desk, visit)
    return await _open(desk, desk.frame(visit, way.merchant, way.language), way)


async def _find_way(desk: Desk, visit: Visit) -> WayIn | None:
    token_hash = hash_token(visit.parameters["token"])
    async with desk.resources.database.connection() as connection:
        return await find_link(connection, token_hash)


async def _open(desk: Desk, frame: Frame, way: WayIn) -> Answer:
    """A new session, whatever cookie the visitor brought."""
    now = desk.now()
    session_id = desk.resources.ids.new(now)
    opening = Opening(
        way.claim_id, way.communication_id, way.channel, way.level, session_id,
        desk.draw_randomness(), now,
    )  # fmt: skip
    async with desk.resources.database.transaction() as tx:
        value = await open_session(desk.work(tx, way.merchant, session_id), opening)
    return desk.redirect(frame, "/claim", cookie=value)


def _answer_dead_link(desk: Desk, visit: Visit) -> Answer:
    """The same for links that were and links that never were."""
    return answer_page(desk.pages.render("dead_link.html", desk.frame(visit)), 410)
