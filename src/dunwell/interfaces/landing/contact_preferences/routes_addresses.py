"""Changing the e-mail address or the mobile number: the new one, and the code sent there."""

from uuid import UUID

from starlette.responses import Response

from dunwell.contact.messages.identities import mask_address
from dunwell.contact.notices.notice import (
    Addressee,
    DebtorNotice,
    NoticeChannel,
    NoticeLimitReached,
)
from dunwell.contact.notices.occasions.facts import ChangeCodeFacts, ChangeNoticeFacts
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.contact_preferences.change_contact import (
    TypedContact,
    ask_change,
    confirm_change,
)
from dunwell.interfaces.landing.contact_preferences.store import (
    NEW_ADDRESSES,
    PendingChange,
    load_change,
    save_typed_address,
)
from dunwell.interfaces.landing.contact_preferences.views import (
    CHANGEABLE,
    AddressFault,
    AddressPage,
    mask_present,
    read_address,
    render_address,
)
from dunwell.interfaces.landing.session.session import Level, is_like_token
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, WrongTry
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    answer_code_field,
    answer_sent_often,
    describe_lock,
)
from dunwell.interfaces.landing.sign_in.views import CodeField
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    check_feature,
    from_level,
    in_session,
    in_session_with,
    takes_form,
    takes_form_from,
)
from dunwell.interfaces.landing.web.problems import answer_problem
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.requests import ForeignForm
from dunwell.platform.errors import NotFound

_PLACE = "preferences"
# As its field takes.
_LONGEST = 254


@in_session_with(NEW_ADDRESSES)
@from_level(Level.CODE, _PLACE)
async def show_form(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """With what this session has typed already, to correct it."""
    return _answer_form(site, visit, opened, _find_typed(visit, opened))


async def submit_address(site: DebtorSite, visit: DebtorRequest) -> Response:
    """A form of a live session. Of one of another nothing is sent: what it brings is shown anew."""
    form, opened = await visit.read_session_form(), await site.find_opened(visit)
    typed = form.get("address", "")[:_LONGEST]
    if opened is None or not site.is_live(opened):
        return site.answer_ended(visit, opened, form=form)
    try:
        site.check_token(opened.session, form)
    except ForeignForm:
        if not (visit.is_surely_ours and is_like_token(form.get("token", ""))):
            raise
        return await _answer_stale(site, visit, opened, typed)
    if not opened.session.level.reaches(Level.CODE):
        return site.ask_more(visit, opened, _PLACE)
    return await _take(site, visit, opened, form)


async def _answer_stale(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, typed: str
) -> Response:
    """It is kept with the session in which it came, whose reader has it on the screen."""
    channel = _find_channel(visit, opened)
    async with site.resources.database.transaction() as tx:
        await lock_claim(tx, opened.merchant.merchant_id, opened.facts.claim_id)
        await save_typed_address(tx, opened.session, channel, typed)
    if not opened.session.level.reaches(Level.CODE):
        return site.ask_more(visit, opened, _PLACE)
    return _answer_form(site, visit, opened, typed=typed, is_stale=True)


async def _take(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    channel = _find_channel(visit, opened)
    address, fault = read_address(
        channel, form.get("address", ""), opened.facts.on_file.find(channel)
    )
    if fault is not None:
        return _answer_form(site, visit, opened, typed=address, fault=fault)
    return await _send(site, visit, opened, channel=channel, address=address)


@in_session_with(NEW_ADDRESSES)
@from_level(Level.CODE, _PLACE)
async def show_code_field(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_code(site, visit, opened, is_wrong=False)


@takes_form
@takes_form_from(Level.CODE, _PLACE)
async def enter_code(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    _find_channel(visit, opened)
    frame, keys = site.frame_opened(visit, opened), site.resources.keys
    typed = TypedContact(opened.facts.claim_id, form.get("code", ""))

    def tell(change: PendingChange, old: str) -> DebtorNotice:
        language = opened.facts.language or frame.language
        addressee = Addressee(opened.facts.claim_id, change.channel, old, language)
        masked = mask_address(change.channel, change.address)
        told = ChangeNoticeFacts(change.channel, opened.merchant.now(site.resources.clock), masked)
        return site.notices.write(opened.merchant, addressee, told)

    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        tried = await confirm_change(work, keys, typed, tell)
    if isinstance(tried, Locked):
        return answer_problem(site, frame, describe_lock(tried))
    if isinstance(tried, WrongTry):
        opened = await site.find_opened(visit, NEW_ADDRESSES) or opened
        return _answer_code(site, visit, opened, is_wrong=True)
    return site.redirect(frame, "preferences", saved=tried.channel.lower())


@takes_form
@takes_form_from(Level.CODE, _PLACE)
async def send_again(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Of an address that waits still; else it is asked for anew."""
    channel = _find_channel(visit, opened)
    async with site.resources.database.connection() as connection:
        change = await load_change(connection, opened.merchant.merchant_id, opened.facts.claim_id)
    if change is None or change.channel != channel:
        return await redirect_to_form(site, visit)
    return await _send(site, visit, opened, channel=channel, address=change.address)


@in_session
async def redirect_to_form(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    _find_channel(visit, opened)
    return site.redirect(site.frame_opened(visit, opened), "address", **_name(visit))


async def _send(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    channel: NoticeChannel,
    address: str,
) -> Response:
    frame = site.frame_opened(visit, opened)
    addressee = Addressee(opened.facts.claim_id, channel, address, frame.language)
    notice = site.notices.write(opened.merchant, addressee, ChangeCodeFacts())
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        sent = await ask_change(work, site.resources.keys, notice)
        if isinstance(sent, UUID):
            await save_typed_address(tx, opened.session, channel, address)
    if isinstance(sent, NoticeLimitReached):
        opened = await site.find_opened(visit, NEW_ADDRESSES) or opened
        return answer_sent_often(site, frame, _read_field(visit, opened), sent)
    assert isinstance(sent, UUID), "a channel the merchant has"
    return site.redirect(frame, "address_code", **_name(visit))


def _answer_form(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim,
    typed: str = "", fault: AddressFault | None = None, *, is_stale: bool = False,
) -> Response:  # fmt: skip
    channel = _find_channel(visit, opened)
    page = AddressPage(
        what=visit.path_params["what"],
        channel=channel,
        typed=typed,
        fault=fault,
        masked=mask_present(opened, channel),
        is_stale=is_stale,
    )
    status = 422 if fault else 409 if is_stale else 200
    return site.answer(site.frame_opened(visit, opened), page, status)


def _answer_code(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, *, is_wrong: bool
) -> Response:
    field, frame = _read_field(visit, opened), site.frame_opened(visit, opened)
    return answer_code_field(site, frame, field, is_wrong=is_wrong)


def _read_field(visit: DebtorRequest, opened: OpenedClaim) -> CodeField:
    """Where the code of a new address is typed in, of an opened claim with NEW_ADDRESSES."""
    channel, found = _find_channel(visit, opened), NEW_ADDRESSES.read(opened.detail)
    waiting, typed = found.waiting, found.find_typed(channel)
    if waiting is None or waiting.channel != channel:
        return CodeField(channel, "address", _name(visit))
    sent_to = render_address(channel, typed) if typed and typed == waiting.address else None
    return CodeField(
        channel=channel,
        page="address",
        values=_name(visit),
        sent_to=sent_to,
        is_undelivered=bool(waiting.is_undelivered),
    )


def _find_typed(visit: DebtorRequest, opened: OpenedClaim) -> str:
    """By this session, and not on file."""
    channel = _find_channel(visit, opened)
    typed = NEW_ADDRESSES.read(opened.detail).find_typed(channel)
    if typed is None or typed == opened.facts.on_file.find(channel):
        return ""
    return render_address(channel, typed)


def _find_channel(visit: DebtorRequest, opened: OpenedClaim) -> NoticeChannel:
    """Of the page's address. Raises NotFound, also where no code could be sent by it."""
    check_feature(opened, "PREFERENCES")
    channel = CHANGEABLE.get(visit.path_params["what"])
    if channel is None or channel not in opened.merchant.configuration.channels:
        raise NotFound("There is no such page.")
    return channel


def _name(visit: DebtorRequest) -> dict[str, str]:
    """For the page's addresses."""
    return {"what": visit.path_params["what"]}


PAGES: RoutedPages = {
    "address": {"GET": show_form, "POST": submit_address},
    "address_code": {"GET": show_code_field, "POST": enter_code},
    "address_send": {"GET": redirect_to_form, "POST": send_again},
}
