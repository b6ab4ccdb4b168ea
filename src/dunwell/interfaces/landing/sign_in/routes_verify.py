"""Raising what a session shows: a known fact, a letter's code, a code to the address on file. Forms
that come twice are taken once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.session.lifecycle import raise_session, repeat_raise
from dunwell.interfaces.landing.session.session import Level, is_form_token
from dunwell.interfaces.landing.session.store import (
    OpenedClaim,
    find_successor,
    load_on_file,
    load_opened_claim,
)
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, Slowed, WrongTry
from dunwell.interfaces.landing.sign_in.entered_codes import (
    AskedFact,
    RightCode,
    try_code,
    try_fact,
    try_sent_code,
)
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    Recipient,
    answer_code_field,
    answer_sent,
    describe_lock,
    read_typed_code,
)
from dunwell.interfaces.landing.sign_in.store import UNDELIVERED
from dunwell.interfaces.landing.sign_in.verification import (
    Fact,
    Known,
    choose_fact,
    find_code_channel,
    find_policy,
    know,
)
from dunwell.interfaces.landing.sign_in.views import CodeField, VerifyPage
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    PLACES,
    RoutedPages,
    in_session,
    in_session_with,
    takes_form,
)
from dunwell.interfaces.landing.web.problems import answer_problem
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


Tried: TypeAlias = RightCode | WrongTry | Locked | Slowed
# None: there is nothing this claim could be asked for.
Prove: TypeAlias = Callable[[Connection, Brought], Awaitable[Tried | None]]


async def take_proof(
    site: DebtorSite, visit: DebtorRequest, level: Level, prove: Prove
) -> tuple[OpenedClaim | None, Raised | WrongTry | Locked | Slowed | Ended | None]:
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
        value = await _raise(tx, brought, level, tried) if isinstance(tried, RightCode) else None
    if value is not None:
        return opened, Raised(value)
    if brought.is_late:
        return None, Ended()
    if not isinstance(tried, RightCode):
        return opened, tried
    # Another session of the claim has used the code up a moment ago; or this one has ended.
    still = await site.find_opened(visit)
    return still, WrongTry() if site.is_live(still) else Ended()


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


async def _raise(tx: Connection, brought: Brought, level: Level, tried: RightCode) -> str | None:
    site = brought.site
    session = msgspec.structs.replace(brought.opened.session, session_hash=brought.session_hash)
    work = site.work(tx, brought.opened.merchant, session.session_id)
    randomness = site.draw_randomness()
    if tried.is_repeated:
        return await repeat_raise(work, brought.session_hash, level, randomness=randomness)
    return await raise_session(
        work, session, level, randomness=randomness, proven=tried.proven_digests
    )


async def redirect_to_place(site: DebtorSite, visit: DebtorRequest) -> Response:
    name = visit.read_query("for") or ""
    return site.redirect(site.frame(visit), "verify", place=name if name in PLACES else "claim")


async def redirect_to_verify(site: DebtorSite, visit: DebtorRequest) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame(visit), "verify", place=_name_place(visit))


@in_session
async def show_verify(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    path, needed = _find_place(visit)
    if opened.session.level.reaches(needed):
        return site.redirect(site.frame_opened(visit, opened), path)
    return _answer_verify(site, visit, opened)


async def enter_fact(site: DebtorSite, visit: DebtorRequest) -> Response:
    async def prove(tx: Connection, brought: Brought) -> Tried | None:
        session = brought.opened.session
        known = know(await load_on_file(tx, session.merchant_id, session.claim_id))
        fact = _choose_fact(brought.opened, known)
        if fact is None:
            return None
        wanted = AskedFact(session.merchant_id, session.claim_id, known, fact)
        tried = await try_fact(tx, wanted, brought.form, now=site.now())
        return tried or RightCode(is_repeated=False)

    return await _take(site, visit, Level.FACT, prove=prove, wrong="FACT")


async def enter_letters_code(site: DebtorSite, visit: DebtorRequest) -> Response:
    async def prove(tx: Connection, brought: Brought) -> Tried:
        session, keys = brought.opened.session, site.resources.keys
        visitor = digest_visitor(keys, visit.client_host)
        tried = await try_code(
            tx, keys, brought.form.get("code", ""), visitor=visitor, now=site.now(),
            only=(session.merchant_id, session.claim_id),
        )  # fmt: skip
        return tried if isinstance(tried, WrongTry | Slowed) else RightCode(is_repeated=False)

    return await _take(site, visit, Level.FACT, prove=prove, wrong="LETTER")


@takes_form
async def send(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    session, frame = opened.session, site.frame_opened(visit, opened)
    known = know(opened.facts.on_file)
    channel = _find_channel(opened, known)
    if channel is None:
        return site.redirect(frame, "verify", place=_name_place(visit))
    recipient = Recipient(
        merchant=opened.merchant,
        claim_id=session.claim_id,
        channel=channel,
        address=known.addresses[channel],
        asked_by=str(session.session_id),
    )
    return await answer_sent(site, frame, recipient, _make_field(visit, channel))


@in_session_with(UNDELIVERED)
async def show_sent(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_code_field(site, visit, opened, is_wrong=False)


async def enter_sent(site: DebtorSite, visit: DebtorRequest) -> Response:
    async def prove(tx: Connection, brought: Brought) -> Tried:
        session, keys = brought.opened.session, site.resources.keys
        typed = read_typed_code(
            site, visit, brought.form, merchant_id=session.merchant_id, claim_id=session.claim_id
        )
        return await try_sent_code(tx, keys, typed, site.now())

    return await _take(site, visit, Level.CODE, prove=prove, wrong="CODE")


async def _take(
    site: DebtorSite, visit: DebtorRequest, level: Level, prove: Prove, wrong: str
) -> Response:
    """`wrong`: as of `_answer_tried`."""
    opened, taken = await take_proof(site, visit, level, prove)
    if isinstance(taken, Raised):
        path, _ = _find_place(visit)
        frame = site.frame_opened(visit, opened) if opened else site.frame(visit)
        return site.redirect(frame, path, cookie=taken.value)
    if opened is None or isinstance(taken, Ended):
        return site.answer_ended(visit, opened)
    if taken is None:
        return site.redirect(site.frame_opened(visit, opened), "verify", place=_name_place(visit))
    return await _answer_tried(site, visit, opened, tried=taken, wrong=wrong)


async def _answer_tried(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    tried: WrongTry | Locked | Slowed,
    wrong: str,
) -> Response:
    """`wrong`: which of the page's forms did not fit."""
    if isinstance(tried, Locked | Slowed):
        return answer_problem(site, site.frame_opened(visit, opened), describe_lock(tried))
    if wrong == "CODE":
        opened = await site.find_opened(visit, UNDELIVERED) or opened
        return _answer_code_field(site, visit, opened, is_wrong=True)
    return _answer_verify(site, visit, opened, wrong)


def _answer_verify(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, wrong: str | None = None
) -> Response:
    known, (_, needed) = know(opened.facts.on_file), _find_place(visit)
    page = VerifyPage(
        place=_name_place(visit),
        needed=needed,
        fact=_choose_fact(opened, known),
        channel=_find_channel(opened, known),
        wrong=wrong,
    )
    return site.answer(site.frame_opened(visit, opened), page, 422 if wrong else 200)


def _answer_code_field(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, *, is_wrong: bool
) -> Response:
    frame, is_undelivered = site.frame_opened(visit, opened), UNDELIVERED.read(opened.detail)
    channel = _find_channel(opened, know(opened.facts.on_file))
    if channel is None:
        return site.redirect(frame, "verify", place=_name_place(visit))
    field = _make_field(visit, channel, is_undelivered=bool(is_undelivered))
    return answer_code_field(site, frame, field, is_wrong=is_wrong)


def _choose_fact(opened: OpenedClaim, known: Known) -> Fact | None:
    policy = find_policy(opened.merchant.configuration, opened.session.channel)
    return choose_fact(policy, known)


def _find_channel(opened: OpenedClaim, known: Known) -> NoticeChannel | None:
    channels = opened.merchant.configuration.channels
    return find_code_channel(known, opened.session.channel, channels)


def _find_place(visit: DebtorRequest) -> tuple[str, Level]:
    return PLACES[_name_place(visit)]


def _make_field(
    visit: DebtorRequest, channel: NoticeChannel, *, is_undelivered: bool = False
) -> CodeField:
    where = {"place": _name_place(visit)}
    return CodeField(channel, "verify", where, is_undelivered=is_undelivered)


def _name_place(visit: DebtorRequest) -> str:
    place: str = visit.path_params["place"]
    return place if place in PLACES else "claim"


PAGES: RoutedPages = {
    "prove": {"GET": redirect_to_place},
    "verify": {"GET": show_verify, "POST": enter_fact},
    "verify_letter": {"GET": redirect_to_verify, "POST": enter_letters_code},
    "verify_send": {"GET": redirect_to_verify, "POST": send},
    "verify_code": {"GET": show_sent, "POST": enter_sent},
}
