"""A template as debtors get it: an e-mail as a phone shows it, a letter's pages, an SMS with its
parts.
"""

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
from dunwell.interfaces.portal.render.pages import hide_secrets
from dunwell.interfaces.portal.texts.views import (
    Subject,
    TextPreviewPage,
    describe_faults,
    find_subject,
    name_place,
    name_workflow,
    open_asked,
    read_place,
    read_wanted,
)
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import (
    RoutedPages,
    at_merchant,
    in_preview_turn,
    takes_form_at_merchant,
)
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.preview_turns import PreviewBusy
from dunwell.interfaces.portal.web.site import POLICY, PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_file
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import (
    InvalidState,
    MerchantNotConfigured,
    NotFound,
    RateLimited,
    ValidationError,
)

# Two pages are made at once; each user's letter before is still there when they go back to it.
_MOST_KEPT = 4
_MOST_KEPT_BYTES = 8 * 1024 * 1024


class PreviewPrinter(LetterPrinter):
    """One child for each page that is made at once, so that no user waits for another's letter."""

    def __init__(self, size: int = 2, fonts: Sequence[Path] = ()) -> None:
        super().__init__(size, fonts=fonts)
        self._kept = OrderedDict[bytes, bytes]()

    async def print_sheet(self, sheet: bytes) -> bytes:
        key = sha256(sheet)
        if key not in self._kept:
            self._keep(key, await super().print_sheet(sheet))
            return self._kept[key]
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: bytes, pdf: bytes) -> None:
        self._kept[key] = pdf
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and (
            len(self._kept) > _MOST_KEPT or sum(map(len, self._kept.values())) > _MOST_KEPT_BYTES
        ):
            self._kept.popitem(last=False)


_PAGE_POLICY = f"{POLICY}; frame-src 'self'"
_LONGEST_NUMBER = 3
_SENT = ("ACCEPTED", "LATER", "REFUSED", "UNKNOWN", "NO_CHANNEL", "RATE", "NO_TEXT")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the transaction has found."""

    opened: WorkflowTexts
    subject: Subject
    message: PreparedMessage | None
    costs: PreparedSmsCosts | None
    problems: list[str]


@dataclass(frozen=True, slots=True)
class _Look:
    opened: WorkflowTexts
    subject: Subject
    preview: MessagePreview | None
    problems: list[str]
    costs: SmsCosts | None


@at_merchant
@in_preview_turn
async def show_preview(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    _check_may(access)
    look = await _look(site, visit, access, prints=True)
    opened, subject = look.opened, look.subject
    place = read_place(visit, opened.definition)
    where = name_place(place, "" if opened.is_newest else opened.version.name)
    template = opened.definition.templates.get(place.name)
    page = TextPreviewPage(
        opened=opened,
        place=place,
        where=where,
        shown={**where, "case": subject.case, "claim": subject.typed},
        subject=subject,
        cases=SAMPLE_CASES,
        channels=[each for each in CHANNELS if template and get_channel_texts(template, each)],
        preview=look.preview,
        problems=look.problems,
        costs=look.costs,
        currency=access.merchant.configuration.currency,
        own_email=access.person.email,
        sent=next((each for each in _SENT if each == visit.ask("sent")), ""),
        has_mail_channel="EMAIL" in access.merchant.configuration.channels,
    )
    answer = site.answer_at(visit, access, page)
    if look.preview is not None and look.preview.html:
        answer.headers["Content-Security-Policy"] = _PAGE_POLICY
    return answer


@at_merchant
@in_preview_turn
async def send_mail_frame(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """The e-mail alone, as the page's frame shows it."""
    _check_may(access)
    look = await _look(site, visit, access, prints=False)
    html = hide_secrets(look.preview.html or "") if look.preview else ""
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
async def send_sheet(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """A page of a letter as a picture."""
    _check_may(access)
    given = visit.path_params["page"]
    if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST_NUMBER):
        raise NotFound("There is no such page.")
    look = await _look(site, visit, access, prints=True)
    pdf = look.preview.pdf if look.preview else None
    if pdf is None:
        raise NotFound("There is no such letter.")
    printed = pdf

    async def load() -> bytes:
        return printed

    shown = PictureSource(
        f"preview/{sha256(printed).hex()}", PDF, load,
        viewer=access.person.user_id, size_bytes=len(printed),
    )  # fmt: skip
    try:
        picture = await site.painter.paint(shown, int(given), FULL)
    except FileNotShowable:
        raise NotFound("There is no picture of this page.") from None
    return answer_file(picture, "image/png")


@takes_form_at_merchant
async def send_to_oneself(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """No transaction is open while the text is written and while the line is waited for."""
    _check_may(access)
    sent, where = "", dict[str, object]()
    async with site.work(access) as work:
        opened = await open_asked(work, visit)
        subject = await find_subject(work, visit, access)
        wanted = read_wanted(visit, opened.definition, subject)
        where = {**name_place(read_place(visit, opened.definition), visit.ask("version"))}
        where |= {"case": subject.case, "claim": subject.typed}
    try:
        message = await _write_trial(site, visit, access, opened=opened, wanted=wanted)
    except PreviewBusy:
        raise
    except RateLimited:
        sent = "RATE"
    except (MerchantNotConfigured, ValidationError, NotFound):
        sent = "NO_TEXT"
    except InvalidState:
        sent = "NO_CHANNEL"
    else:
        sent = _name_outcome(await site.around.adapters.call(access.merchant, message))
    where["sent"] = sent
    return site.redirect(visit, access, "text_preview", workflow_id=opened.workflow_id, **where)


async def _write_trial(
    site: PortalSite,
    visit: PortalRequest,
    access: MerchantAccess,
    *,
    opened: WorkflowTexts,
    wanted: WantedMessage,
) -> Message:
    """Ready to be sent, and counted. Raises what each of its steps raises."""
    async with site.work(access) as work:
        trial = await prepare_trial(work, site.resources, opened.definition, wanted)
    user_id = access.person.user_id
    message = await site.previews.run(visit, user_id, lambda: write_trial(trial))
    async with site.work(access) as work:
        await record_trial(work, site.resources, trial, name_workflow(opened.workflow_id))
    return message


async def _look(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, prints: bool
) -> _Look:
    """The transaction is over before anything is written or printed. Raises NotFound for what is no
    text of the workflow's."""
    async with site.work(access) as work:
        asked = await _ask(site, work, visit, access, counts=prints)
    problems, preview, costs = [*asked.problems], None, None
    printer = site.preview_printer if prints else None
    try:
        if asked.message is not None:
            preview = await render_preview(asked.message, printer=printer)
        if asked.costs is not None:
            costs = await compute_sms_costs(asked.costs)
    except MerchantNotConfigured:
        problems.append("NOT_CONFIGURED")
    except ValidationError as refusal:
        problems += describe_faults(refusal)
    return _Look(asked.opened, asked.subject, preview=preview, problems=problems, costs=costs)


async def _ask(
    site: PortalSite, work: Work, visit: PortalRequest, access: MerchantAccess, *, counts: bool
) -> _Asked:
    """counts: of an SMS, what it costs over real names."""
    opened = await open_asked(work, visit)
    subject = await find_subject(work, visit, access)
    wanted = read_wanted(visit, opened.definition, subject)
    problems, message, costs = ["UNKNOWN_CLAIM"] if subject.is_unknown else [], None, None
    try:
        message = await prepare_message(work, site.resources, opened.definition, wanted)
        if wanted.channel == "SMS" and counts:
            costs = await prepare_sms_costs(work, site.resources, opened.definition, wanted)
    except MerchantNotConfigured:
        problems.append("NOT_CONFIGURED")
    except ValidationError as refusal:
        problems += describe_faults(refusal)
    return _Asked(opened, subject, message=message, costs=costs, problems=problems)


def _check_may(access: MerchantAccess) -> None:
    """Raises NotFound."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


def _name_outcome(outcome: Outcome | Unanswered) -> str:
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
    "text_preview": {"GET": show_preview, "POST": send_to_oneself},
    "text_mail": {"GET": send_mail_frame},
    "text_sheet": {"GET": send_sheet},
}
