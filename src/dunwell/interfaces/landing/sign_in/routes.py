"""The ways in: the front door, whose address our messages name, a message's link, and the code of a
letter. Looking at them changes nothing."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from dunwell.contact.messages.claim_links import hash_token, looks_like_token
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.lifecycle import (
    ClaimSessionOpening,
    OpenedClaimSession,
    open_session,
    repeat_opening,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, Slowed, WrongTry
from dunwell.interfaces.landing.sign_in.browser_sessions import (
    find_session_of_link,
    find_session_with_higher_level,
    redirect_to_claim,
    redirect_with_session_cookie,
)
from dunwell.interfaces.landing.sign_in.claim_openings import ClaimEntry, open_claim_once
from dunwell.interfaces.landing.sign_in.entered_codes import (
    AskedFact,
    RightCode,
    TypedFact,
    try_code,
    try_fact,
    try_sent_code,
)
from dunwell.interfaces.landing.sign_in.legal_notices import describe_notices
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    Recipient,
    answer_code_field,
    answer_sent,
    describe_lock,
    read_typed_code,
)
from dunwell.interfaces.landing.sign_in.store import WayIn, find_link, is_undelivered
from dunwell.interfaces.landing.sign_in.verification import (
    AskCode,
    AskFact,
    OpensByItself,
    Way,
    decide_entry,
    find_policy,
)
from dunwell.interfaces.landing.sign_in.views import (
    CodeField,
    CodePage,
    DeadLinkPage,
    HomePage,
    describe_link,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import count_wrong_code, digest_visitor
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.latest_claim import find_held
from dunwell.interfaces.landing.web.problems import answer_problem, too_many
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.database.database import Connection

# What may stand behind a link in a text, and in no token.
_PURPOSE = "landing-sent-session"
_AFTER_LINK = ".,;:!?)]}>\"'*»\u2019\u201d"


async def show_home(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(await site.find_frame(visit), HomePage())


async def show_code_entry(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), CodePage(tried=False))


async def enter_code(site: DebtorSite, visit: DebtorRequest) -> Response:
    form = await visit.read_form()
    resources, frame = site.resources, site.frame(visit)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        found = await try_code(
            tx, resources.keys, form.get("code", ""), visitor=visitor, now=site.now()
        )
    if isinstance(found, Slowed):
        return answer_problem(site, frame, too_many(found.retry_after_seconds, "SLOWED"))
    if isinstance(found, WrongTry):
        return site.answer(frame, CodePage(tried=True), 422)
    return await _open(site, visit, frame=frame, way=found, level=found.level)


async def show_link(site: DebtorSite, visit: DebtorRequest) -> Response:
    """Whoever looks, a scanner too, sees the creditor only, and what is asked for."""
    way = await _find_way(site, visit)
    return _answer_dead_link(site, visit) if way is None else _answer_link(site, visit, way)


async def show_link_notices(site: DebtorSite, visit: DebtorRequest) -> Response:
    """The legal notice of the creditor whom the link's own page names, opened or not."""
    way = await _find_way(site, visit)
    if way is None:
        return _answer_dead_link(site, visit)
    return site.answer(_frame(site, visit, way), describe_notices(way.merchant))


async def open_link(site: DebtorSite, visit: DebtorRequest) -> Response:
    form = await visit.read_form()
    way = await _find_way(site, visit)
    if way is None:
        return _answer_dead_link(site, visit)
    back = find_session_of_link(site, await find_held(site, visit), way)
    if back is not None:
        return redirect_to_claim(site, _frame(site, visit, way), back)
    asked = _decide(way)
    if isinstance(asked, OpensByItself):
        return await _open(site, visit, frame=_frame(site, visit, way), way=way, level=way.level)
    if isinstance(asked, AskFact):
        return await _take_fact(site, visit, form=form, way=way, asked=asked)
    return _answer_link(site, visit, way)


async def _take_fact(
    site: DebtorSite, visit: DebtorRequest, form: FormFields, way: WayIn, asked: AskFact
) -> Response:
    frame = _frame(site, visit, way)
    resources = site.resources
    wanted = AskedFact(way.merchant.merchant_id, way.claim_id, way.known, asked.fact)
    async with resources.database.transaction() as tx:
        tried = await try_fact(tx, wanted, form, now=site.now())
    if isinstance(tried, Locked):
        return answer_problem(site, frame, describe_lock(tried))
    if isinstance(tried, WrongTry):
        return _answer_link(site, visit, way, is_wrong=True)
    return await _open(site, visit, frame=frame, way=way, level=Level.FACT)


async def send_links_code(site: DebtorSite, visit: DebtorRequest) -> Response:
    await visit.read_form()
    way = await _find_way(site, visit)
    if way is None:
        return _answer_dead_link(site, visit)
    asked, frame = _decide(way), _frame(site, visit, way)
    if not isinstance(asked, AskCode):
        return site.redirect(frame, "link", **_name_link(visit))
    recipient = Recipient(
        merchant=way.merchant,
        claim_id=way.claim_id,
        channel=asked.channel,
        address=way.known.addresses[asked.channel],
        asked_by="link",
    )
    field = CodeField(asked.channel, "link", _name_link(visit))
    return await answer_sent(site, frame, recipient, field)


async def show_links_code(site: DebtorSite, visit: DebtorRequest) -> Response:
    """The field for the code that was sent."""
    way = await _find_way(site, visit)
    if way is None:
        return _answer_dead_link(site, visit)
    return await _answer_links_code(site, visit, way)


async def enter_links_code(site: DebtorSite, visit: DebtorRequest) -> Response:
    form = await visit.read_form()
    way = await _find_way(site, visit)
    if way is None:
        return _answer_dead_link(site, visit)
    frame = _frame(site, visit, way)
    if not isinstance(_decide(way), AskCode):
        return site.redirect(frame, "link", **_name_link(visit))
    typed = read_typed_code(
        site, visit, form, merchant_id=way.merchant.merchant_id, claim_id=way.claim_id
    )
    async with site.resources.database.transaction() as tx:
        tried = await _try_sent(site, tx, way, typed)
    if isinstance(tried, Locked):
        return answer_problem(site, frame, describe_lock(tried))
    if isinstance(tried, WrongTry):
        return await _answer_links_code(site, visit, way, is_wrong=True)
    held = await find_held(site, visit)
    return redirect_with_session_cookie(site, frame, held, tried)


async def redirect_to_link(site: DebtorSite, visit: DebtorRequest) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    if not looks_like_token(_read_token(visit)):
        return _answer_dead_link(site, visit)
    return site.redirect(site.frame(visit), "link", **_name_link(visit))


def _answer_link(
    site: DebtorSite, visit: DebtorRequest, way: WayIn, *, is_wrong: bool = False
) -> Response:
    page = describe_link(_read_token(visit), _decide(way), is_wrong=is_wrong)
    return site.answer(_frame(site, visit, way), page, 422 if is_wrong else 200)


async def _answer_links_code(
    site: DebtorSite, visit: DebtorRequest, way: WayIn, *, is_wrong: bool = False
) -> Response:
    asked, frame = _decide(way), _frame(site, visit, way)
    if not isinstance(asked, AskCode):
        return site.redirect(frame, "link", **_name_link(visit))
    async with site.resources.database.connection() as connection:
        failed = await is_undelivered(connection, way.merchant.merchant_id, way.claim_id)
    field = CodeField(asked.channel, "link", _name_link(visit), is_undelivered=failed)
    return answer_code_field(site, frame, field, is_wrong=is_wrong)


def _decide(way: WayIn) -> Way:
    configuration = way.merchant.configuration
    policy = find_policy(configuration, way.channel)
    return decide_entry(policy, way.known, way.channel, configuration.channels)


def _frame(site: DebtorSite, visit: DebtorRequest, way: WayIn) -> DebtorPageContext:
    frame = site.frame(visit, way.merchant, way.language)
    return msgspec.structs.replace(frame, link_token=_read_token(visit))


def _name_link(visit: DebtorRequest) -> dict[str, str]:
    """For its addresses. What stands in it was found, or it is at least no more than a token."""
    return {"token": _read_token(visit)}


def _read_token(visit: DebtorRequest) -> str:
    """Without the end of the sentence that a mail program took for a part of the link."""
    token: str = visit.path_params["token"]
    return token.rstrip(_AFTER_LINK)


async def _find_way(site: DebtorSite, visit: DebtorRequest) -> WayIn | None:
    token_hash = hash_token(_read_token(visit))
    async with site.resources.database.connection() as connection:
        return await find_link(connection, token_hash)


async def _open(
    site: DebtorSite, visit: DebtorRequest, frame: DebtorPageContext, way: WayIn, level: Level
) -> Response:
    """Back into the session that the same way has opened, or a new one; what was proven in one that
    it takes the place of is proven in this one."""
    held = await find_held(site, visit)
    back = find_session_of_link(site, held, way)
    if back is not None:
        return redirect_to_claim(site, frame, back)
    claim = (way.merchant.merchant_id, way.claim_id)
    before = find_session_with_higher_level(site, held, *claim, level)
    level = before.level if before else level
    resources, session_id = site.resources, site.resources.ids.new(site.now())
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        work = site.work(tx, way.merchant, session_id)
        opened = await open_claim_once(
            work,
            resources.keys,
            ClaimEntry(
                way,
                level,
                visitor=visitor,
                session_id=session_id,
                randomness=site.draw_randomness(),
                before=before,
            ),
        )
    if isinstance(opened, Locked):
        return answer_problem(site, frame, too_many(opened.retry_after_seconds, "OPENED_OFTEN"))
    return redirect_with_session_cookie(site, frame, held, opened)


async def _try_sent(
    site: DebtorSite, tx: Connection, way: WayIn, typed: TypedFact
) -> OpenedClaimSession | WrongTry | Locked:
    """To a visitor who did not use the code first, a code that was used is a wrong one."""
    keys, now = site.resources.keys, site.now()
    tried = await try_sent_code(tx, keys, typed, now)
    if not isinstance(tried, RightCode):
        return tried
    assert tried.notice_id is not None
    origin = keys.digest(_PURPOSE, tried.notice_id.bytes + typed.visitor)
    if not tried.is_repeated:
        return await _open_by_code(site, tx, way=way, origin=origin, proven=tried.proven_digests)
    work = site.work(tx, way.merchant, way.claim_id)
    repeated = await repeat_opening(work, origin, site.draw_randomness())
    return repeated or await count_wrong_code(tx, now)


async def _open_by_code(
    site: DebtorSite, tx: Connection, way: WayIn, origin: bytes, proven: Sequence[bytes]
) -> OpenedClaimSession:
    session_id = site.resources.ids.new(site.now())
    opening = ClaimSessionOpening(
        claim_id=way.claim_id,
        communication_id=way.communication_id,
        channel=way.channel,
        level=Level.CODE,
        session_id=session_id,
        randomness=site.draw_randomness(),
        previous_hash=origin,
        proven_digests=proven,
    )
    work = site.work(tx, way.merchant, session_id)
    return await open_session(work, site.resources.keys, opening)


def _answer_dead_link(site: DebtorSite, visit: DebtorRequest) -> Response:
    """The same for links that were and links that never were."""
    return site.answer(site.frame(visit), DeadLinkPage(), 410)


PAGES: RoutedPages = {
    "home": {"GET": show_home},
    "code": {"GET": show_code_entry, "POST": enter_code},
    "link": {"GET": show_link, "POST": open_link},
    "link_send": {"GET": redirect_to_link, "POST": send_links_code},
    "link_code": {"GET": show_links_code, "POST": enter_links_code},
    "link_notices": {"GET": show_link_notices},
}
