"""Changing the e-mail address or the mobile number, with a code that is sent to the new one."""

from uuid import UUID

from starlette.responses import Response

from dunwell.contact.messages.identities import mask_address
from dunwell.contact.notices.notice import (
    Addressee,
    DebtorNotice,
    NoticeChannel,
    NoticeLimitReached,
    RecipientUnreachable,
)
from dunwell.contact.notices.occasions.facts import ChangeCodeFacts, ChangeNoticeFacts
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.contact_preferences.change_contact import (
    TypedChangeCode,
    confirm_change,
    request_change,
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
    mask_address_on_file,
    parse_address,
    render_address,
)
from dunwell.interfaces.landing.session.session import Level, looks_like_token
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, WrongAttempt
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    answer_code_field,
    answer_too_many_codes,
    describe_lock,
)
from dunwell.interfaces.landing.sign_in.views import CodeField
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form,
    check_feature,
    form_requires_level,
    in_session,
    in_session_with,
    requires_level,
)
from dunwell.interfaces.landing.web.problems import answer_problem
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.requests import ForeignForm
from dunwell.platform.errors import NotFound

_RETURN_PAGE = "preferences"
# The maximum length of the form's field.
_MAX_LENGTH = 254


@in_session_with(NEW_ADDRESSES)
@requires_level(Level.CODE, _RETURN_PAGE)
async def get_address_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Show the form with what this session has entered before, so that it can be corrected."""
    return _answer_form(site, request, opened, _find_typed(request, opened))


async def submit_address(site: DebtorSite, request: DebtorRequest) -> Response:
    """Send a code to the new address. A form of another session sends nothing, and its text is
    shown again."""
    form, opened = await request.read_session_form(), await site.find_opened(request)
    typed = form.get("address", "")[:_MAX_LENGTH]
    if opened is None or not site.is_live(opened):
        return site.answer_session_ended(request, opened, form=form)
    if opened.facts.withheld:
        return site.redirect(site.build_claim_context(request, opened), "claim")
    try:
        site.check_token(opened.session, form)
    except ForeignForm:
        if not (request.has_trusted_origin and looks_like_token(form.get("token", ""))):
            raise
        return await _answer_stale(site, request, opened, typed)
    if not opened.session.level.reaches(Level.CODE):
        return site.redirect_to_verification(request, opened, _RETURN_PAGE)
    return await _accept_address(site, request, opened, form)


async def _answer_stale(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, typed: str
) -> Response:
    """Save what was entered in the current session, whose form shows it again."""
    channel = _get_channel(request, opened)
    async with site.resources.database.transaction() as tx:
        await lock_claim(tx, opened.merchant.merchant_id, opened.facts.claim_id)
        await save_typed_address(tx, opened.session, channel, typed)
    if not opened.session.level.reaches(Level.CODE):
        return site.redirect_to_verification(request, opened, _RETURN_PAGE)
    return _answer_form(site, request, opened, typed=typed, is_stale=True)


async def _accept_address(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    channel = _get_channel(request, opened)
    address, fault = parse_address(
        channel, form.get("address", ""), opened.facts.on_file.find(channel)
    )
    if fault is not None:
        return _answer_form(site, request, opened, typed=address, fault=fault)
    return await _send_change_code(site, request, opened, channel=channel, address=address)


@in_session_with(NEW_ADDRESSES)
@requires_level(Level.CODE, _RETURN_PAGE)
async def get_code_page(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_code(site, request, opened, is_wrong=False)


@accepts_form
@form_requires_level(Level.CODE, _RETURN_PAGE)
async def enter_code(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    _get_channel(request, opened)
    context, keys = site.build_claim_context(request, opened), site.resources.keys
    typed = TypedChangeCode(opened.facts.claim_id, form.get("code", ""))

    def write_notice(change: PendingChange, old: str) -> DebtorNotice:
        language = opened.facts.language or context.language
        addressee = Addressee(opened.facts.claim_id, change.channel, old, language)
        masked = mask_address(change.channel, change.address)
        facts = ChangeNoticeFacts(change.channel, opened.merchant.now(site.resources.clock), masked)
        return site.notices.write(opened.merchant, addressee, facts)

    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        result = await confirm_change(work, keys, typed, write_notice)
    if isinstance(result, Locked):
        return answer_problem(site, context, describe_lock(result))
    if isinstance(result, WrongAttempt):
        opened = await site.find_opened(request, NEW_ADDRESSES) or opened
        return _answer_code(site, request, opened, is_wrong=True)
    return site.redirect(context, "preferences", saved=result.channel.lower())


@accepts_form
@form_requires_level(Level.CODE, _RETURN_PAGE)
async def resend_code(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Send another code to the pending address, or show the form if no change is pending."""
    channel = _get_channel(request, opened)
    async with site.resources.database.connection() as connection:
        change = await load_change(connection, opened.merchant.merchant_id, opened.facts.claim_id)
    if change is None or change.channel != channel:
        return await redirect_to_form(site, request)
    return await _send_change_code(site, request, opened, channel=channel, address=change.address)


@in_session
async def redirect_to_form(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language."""
    _get_channel(request, opened)
    return site.redirect(
        site.build_claim_context(request, opened), "address", **_build_path_parameter(request)
    )


async def _send_change_code(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    channel: NoticeChannel,
    address: str,
) -> Response:
    context = site.build_claim_context(request, opened)
    addressee = Addressee(opened.facts.claim_id, channel, address, context.language)
    notice = site.notices.write(opened.merchant, addressee, ChangeCodeFacts())
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        sent = await request_change(work, site.resources.keys, notice)
        if isinstance(sent, UUID):
            await save_typed_address(tx, opened.session, channel, address)
    if isinstance(sent, NoticeLimitReached):
        opened = await site.find_opened(request, NEW_ADDRESSES) or opened
        return answer_too_many_codes(site, context, _build_code_field(request, opened), sent)
    if isinstance(sent, RecipientUnreachable):
        return _answer_form(site, request, opened, typed=address, fault="UNREACHABLE")
    return site.redirect(context, "address_code", **_build_path_parameter(request))


def _answer_form(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim,
    typed: str = "", fault: AddressFault | None = None, *, is_stale: bool = False,
) -> Response:  # fmt: skip
    channel = _get_channel(request, opened)
    page = AddressPage(
        what=request.path_params["what"],
        channel=channel,
        typed=typed,
        fault=fault,
        masked=mask_address_on_file(opened, channel),
        is_stale=is_stale,
    )
    status = 422 if fault else 409 if is_stale else 200
    return site.render_page(site.build_claim_context(request, opened), page, status)


def _answer_code(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, *, is_wrong: bool
) -> Response:
    field, context = _build_code_field(request, opened), site.build_claim_context(request, opened)
    return answer_code_field(site, context, field, is_wrong=is_wrong)


def _build_code_field(request: DebtorRequest, opened: OpenedClaim) -> CodeField:
    """Describe the field for the code. `opened` must be loaded with NEW_ADDRESSES."""
    channel, found = _get_channel(request, opened), NEW_ADDRESSES.decode(opened.detail)
    waiting, typed = found.waiting, found.find_typed(channel)
    if waiting is None or waiting.channel != channel:
        return CodeField(channel, "address", _build_path_parameter(request))
    sent_to = render_address(channel, typed) if typed and typed == waiting.address else None
    return CodeField(
        channel=channel,
        page="address",
        values=_build_path_parameter(request),
        sent_to=sent_to,
        is_undelivered=bool(waiting.is_undelivered),
    )


def _find_typed(request: DebtorRequest, opened: OpenedClaim) -> str:
    """Find the address that this session has entered, unless it is on file. Empty if there is
    none."""
    channel = _get_channel(request, opened)
    typed = NEW_ADDRESSES.decode(opened.detail).find_typed(channel)
    if typed is None or typed == opened.facts.on_file.find(channel):
        return ""
    return render_address(channel, typed)


def _get_channel(request: DebtorRequest, opened: OpenedClaim) -> NoticeChannel:
    """Return the channel in the page's address. Raises NotFound if the merchant does not use the
    channel, so that no code could be sent."""
    check_feature(opened, "PREFERENCES")
    channel = CHANGEABLE.get(request.path_params["what"])
    if channel is None or channel not in opened.merchant.configuration.channels:
        raise NotFound("There is no such page.")
    return channel


def _build_path_parameter(request: DebtorRequest) -> dict[str, str]:
    """Return the parameter of the page's address."""
    return {"what": request.path_params["what"]}


PAGES: RoutedPages = {
    "address": {"GET": get_address_page, "POST": submit_address},
    "address_code": {"GET": get_code_page, "POST": enter_code},
    "address_send": {"GET": redirect_to_form, "POST": resend_code},
}
