"""The preview of a template as debtors get it: an e-mail on a phone, the pages of a letter, an SMS
with its parts."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import (
    MessagePreview,
    PreparedMessage,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.cases.rollout.preview.sample_contact import SAMPLE_CASES
from dunwell.cases.rollout.texts.edit_text import WorkflowTexts
from dunwell.cases.rollout.trials.send_trial import prepare_trial, record_trial, write_trial
from dunwell.cases.rollout.trials.sms_costs import (
    PreparedSmsCosts,
    SmsCosts,
    compute_sms_costs,
    prepare_sms_costs,
)
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.templates.mail_blocks import render_frame_policy
from dunwell.contact.sending.channel import (
    Accepted,
    Message,
    Outcome,
    Permanent,
    Temporary,
    Unanswered,
)
from dunwell.core.files.pictures import FULL, FileNotShowable, PictureSource
from dunwell.core.files.upload import PDF
from dunwell.core.workflows.texts import get_channel_texts
from dunwell.interfaces.portal.render.pages import remove_masks
from dunwell.interfaces.portal.texts.views import (
    PreviewSubject,
    TextPreviewPage,
    build_audit_subject,
    build_place_query,
    get_requested_texts,
    list_fault_codes,
    load_subject,
    parse_text_place,
    parse_wanted_message,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import (
    RoutedPages,
    at_merchant,
    in_preview_turn,
    takes_form_at_merchant,
)
from dunwell.interfaces.portal.web.preview_turns import PreviewBusy
from dunwell.interfaces.portal.web.site import POLICY, PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import (
    InvalidState,
    MerchantNotConfigured,
    NotFound,
    RateLimited,
    ValidationError,
)

# Two letters are printed at once; each user's previous letter stays in the cache.
_MAX_CACHED_LETTERS = 4
_MAX_CACHED_BYTES = 8 * 1024 * 1024


class PreviewPrinter(LetterPrinter):
    """A printer with several child processes, so that no user waits for another user's letter, and
    with a small cache of printed letters."""

    def __init__(self, size: int = 2, fonts: Sequence[Path] = ()) -> None:
        super().__init__(size, fonts=fonts)
        self._cache = OrderedDict[bytes, bytes]()

    async def print_sheet(self, sheet: bytes) -> bytes:
        key = sha256(sheet)
        if key not in self._cache:
            self._cache_letter(key, await super().print_sheet(sheet))
            return self._cache[key]
        self._cache.move_to_end(key)
        return self._cache[key]

    def _cache_letter(self, key: bytes, pdf: bytes) -> None:
        self._cache[key] = pdf
        self._cache.move_to_end(key)
        while len(self._cache) > 1 and (
            len(self._cache) > _MAX_CACHED_LETTERS
            or sum(map(len, self._cache.values())) > _MAX_CACHED_BYTES
        ):
            self._cache.popitem(last=False)


_PAGE_POLICY = f"{POLICY}; frame-src 'self'"
_MAX_PAGE_DIGITS = 3
_TRIAL_OUTCOMES = ("ACCEPTED", "LATER", "REFUSED", "UNKNOWN", "NO_CHANNEL", "RATE", "NO_TEXT")


@dataclass(frozen=True, slots=True)
class _PreparedPreview:
    """What the transaction loaded for the preview."""

    opened: WorkflowTexts
    subject: PreviewSubject
    message: PreparedMessage | None
    costs: PreparedSmsCosts | None
    problems: list[str]


@dataclass(frozen=True, slots=True)
class _LoadedPreview:
    opened: WorkflowTexts
    subject: PreviewSubject
    preview: MessagePreview | None
    problems: list[str]
    costs: SmsCosts | None


@at_merchant
@in_preview_turn
async def get_preview_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    _check_may_configure(access)
    loaded = await _load_preview(site, request, access, with_pages=True)
    opened, subject = loaded.opened, loaded.subject
    place = parse_text_place(request, opened.definition)
    place_query = build_place_query(place, "" if opened.is_newest else opened.version.name)
    template = opened.definition.templates.get(place.name)
    page = TextPreviewPage(
        opened=opened,
        place=place,
        place_query=place_query,
        shown={**place_query, "case": subject.case, "claim": subject.typed},
        subject=subject,
        cases=SAMPLE_CASES,
        channels=[each for each in CHANNELS if template and get_channel_texts(template, each)],
        preview=loaded.preview,
        problems=loaded.problems,
        costs=loaded.costs,
        currency=access.merchant.configuration.currency,
        own_email=access.person.email,
        sent=next((each for each in _TRIAL_OUTCOMES if each == request.get_parameter("sent")), ""),
        has_mail_channel="EMAIL" in access.merchant.configuration.channels,
    )
    response = site.render_merchant_page(request, access, page)
    if loaded.preview is not None and loaded.preview.html:
        response.headers["Content-Security-Policy"] = _PAGE_POLICY
    return response


@at_merchant
@in_preview_turn
async def send_mail_frame(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return only the e-mail, for the frame of the page."""
    _check_may_configure(access)
    loaded = await _load_preview(site, request, access, with_pages=False)
    html = remove_masks(loaded.preview.html or "") if loaded.preview else ""
    if not html:
        raise NotFound("There is no such e-mail.")
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": render_frame_policy(html),
        "X-Robots-Tag": "noindex, nofollow, noarchive",
    }
    return Response(html, 200, headers)


@at_merchant
@in_preview_turn
async def send_letter_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return a page of a letter as an image."""
    _check_may_configure(access)
    page_text = request.path_params["page"]
    if not (page_text.isascii() and page_text.isdigit() and len(page_text) <= _MAX_PAGE_DIGITS):
        raise NotFound("There is no such page.")
    loaded = await _load_preview(site, request, access, with_pages=True)
    pdf = loaded.preview.pdf if loaded.preview else None
    if pdf is None:
        raise NotFound("There is no such letter.")
    pdf_bytes = pdf

    async def load() -> bytes:
        return pdf_bytes

    shown = PictureSource(
        f"preview/{sha256(pdf_bytes).hex()}", PDF, load,
        viewer=access.person.user_id, size_bytes=len(pdf_bytes),
    )  # fmt: skip
    try:
        picture = await site.painter.render_png(shown, int(page_text), FULL)
    except FileNotShowable:
        raise NotFound("There is no picture of this page.") from None
    return build_file_response(picture, "image/png")


@takes_form_at_merchant
async def submit_test_message(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Send a test message to the user. No transaction is open while the message is rendered and
    sent."""
    _check_may_configure(access)
    sent, place_query = "", dict[str, object]()
    async with site.open_work(access) as work:
        opened = await get_requested_texts(work, request)
        subject = await load_subject(work, request, access)
        wanted = parse_wanted_message(request, opened.definition, subject)
        place_query = {
            **build_place_query(
                parse_text_place(request, opened.definition), request.get_parameter("version")
            )
        }
        place_query |= {"case": subject.case, "claim": subject.typed}
    try:
        message = await _write_test_message(site, request, access, opened=opened, wanted=wanted)
    except PreviewBusy:
        raise
    except RateLimited:
        sent = "RATE"
    except (MerchantNotConfigured, ValidationError, NotFound):
        sent = "NO_TEXT"
    except InvalidState:
        sent = "NO_CHANNEL"
    else:
        sent = _get_outcome_code(await site.services.adapters.call(access.merchant, message))
    place_query["sent"] = sent
    return site.redirect(
        request, access, "text_preview", workflow_id=opened.workflow_id, **place_query
    )


async def _write_test_message(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    opened: WorkflowTexts,
    wanted: WantedMessage,
) -> Message:
    """Return the message, and count it against the rate limit. Raises the errors of
    `prepare_trial`, `write_trial` and `record_trial`."""
    async with site.open_work(access) as work:
        trial = await prepare_trial(work, site.resources, opened.definition, wanted)
    user_id = access.person.user_id
    message = await site.previews.run(request, user_id, lambda: write_trial(trial))
    async with site.open_work(access) as work:
        await record_trial(work, site.resources, trial, build_audit_subject(opened.workflow_id))
    return message


async def _load_preview(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, with_pages: bool
) -> _LoadedPreview:
    """Load and render the preview. The transaction ends before rendering and printing. Raises
    NotFound if the query names no text of the workflow."""
    async with site.open_work(access) as work:
        prepared = await _prepare_preview(site, work, request, access, with_costs=with_pages)
    problems, preview, costs = [*prepared.problems], None, None
    printer = site.preview_printer if with_pages else None
    try:
        if prepared.message is not None:
            preview = await render_preview(prepared.message, printer=printer)
        if prepared.costs is not None:
            costs = await compute_sms_costs(prepared.costs)
    except MerchantNotConfigured:
        problems.append("NOT_CONFIGURED")
    except ValidationError as refusal:
        problems += list_fault_codes(refusal)
    return _LoadedPreview(
        prepared.opened, prepared.subject, preview=preview, problems=problems, costs=costs
    )


async def _prepare_preview(
    site: PortalSite,
    work: Work,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    with_costs: bool,
) -> _PreparedPreview:
    """Load the preview in one transaction. `with_costs` includes what the SMS would cost
    for recent claims."""
    opened = await get_requested_texts(work, request)
    subject = await load_subject(work, request, access)
    wanted = parse_wanted_message(request, opened.definition, subject)
    problems, message, costs = ["UNKNOWN_CLAIM"] if subject.is_unknown else [], None, None
    try:
        message = await prepare_message(work, site.resources, opened.definition, wanted)
        if wanted.channel == "SMS" and with_costs:
            costs = await prepare_sms_costs(work, site.resources, opened.definition, wanted)
    except MerchantNotConfigured:
        problems.append("NOT_CONFIGURED")
    except ValidationError as refusal:
        problems += list_fault_codes(refusal)
    return _PreparedPreview(opened, subject, message=message, costs=costs, problems=problems)


def _check_may_configure(access: MerchantAccess) -> None:
    """Check that the user may configure the merchant. Raises NotFound."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


def _get_outcome_code(outcome: Outcome | Unanswered) -> str:
    match outcome:
        case Accepted():
            return "ACCEPTED"
        case Temporary():
            return "LATER"
        case Permanent():
            return "REFUSED"
        case Unanswered():
            return "UNKNOWN"


PAGES: RoutedPages = {
    "text_preview": {"GET": get_preview_page, "POST": submit_test_message},
    "text_mail": {"GET": send_mail_frame},
    "text_sheet": {"GET": send_letter_page},
}
