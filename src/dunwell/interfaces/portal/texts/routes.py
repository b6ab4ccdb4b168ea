"""The grid of a workflow's templates, the editor of one, and a workflow simulated on one claim."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import (
    PreparedMessage,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.cases.rollout.preview.sample_contact import SAMPLE_CASES
from dunwell.cases.rollout.texts.edit_text import MAX_SENTENCE_WORDS, edit_text, review_text
from dunwell.cases.rollout.texts.grid import build_text_grid
from dunwell.cases.rollout.trials.simulate import (
    PreparedSimulation,
    Simulation,
    SimulationScope,
    prepare_simulation,
    simulate,
)
from dunwell.cases.rollout.trials.trial_messages import (
    PlaceholderExample,
    list_placeholders,
    prepare_trial_writer,
)
from dunwell.contact.escalation.calendars import find_holiday_name
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.texts import TextContent, TextPlace, find_text, replace_text
from dunwell.interfaces.portal.render.labels import TEXT_FAULTS, describe_text_fault
from dunwell.interfaces.portal.texts.views import (
    SimulationPage,
    TemplatesPage,
    TextPage,
    describe_faults,
    find_subject,
    name_place,
    open_asked,
    read_place,
)
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import (
    RoutedPages,
    at_merchant,
    in_preview_turn,
    takes_form_at_merchant,
)
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import (
    EditConflict,
    Fault,
    MerchantNotConfigured,
    NotFound,
    ValidationError,
)
from dunwell.platform.text.differences import compute_revision
from dunwell.platform.text.lazy_text import LazyText

# As much as a text of a definition may have.
_MOST_CHARACTERS = 20_000


@at_merchant
async def show_texts(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    async with site.work(access) as work:
        opened = await open_asked(work, visit)
    grid = await run_in_thread(build_text_grid, opened.definition, access.merchant.configuration)
    return site.answer_at(visit, access, TemplatesPage(opened, grid, CHANNELS))


@at_merchant
async def show_text(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    return await _answer_typed(site, visit, access, None)


@dataclass(frozen=True, slots=True)
class _Typed:
    """What stands in the form. known: what the text was when the form was shown; "": as it stands.
    faults: by field."""

    written: TextContent
    known: str = ""
    faults: Sequence[tuple[str, str]] = ()
    conflict: EditConflict | None = None

    @property
    def status(self) -> int:
        return 409 if self.conflict else 422 if self.faults else 200


@takes_form_at_merchant
async def submit_text(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Checks what was typed, puts a placeholder into it, or saves it in the draft."""
    do, typed = fields["do"], _Typed(_read_typed(fields), fields["revision"])
    if do == "save":
        typed = replace(typed, faults=_find_faults(visit, typed.written))
    if do not in ("save", "remove") or typed.faults:
        return await _answer_typed(site, visit, access, typed)
    written = typed.written if do == "save" else None
    try:
        async with site.work(access) as work:
            opened = await open_asked(work, visit)
            place = read_place(visit, opened.definition)
            await edit_text(work, opened.workflow_id, place, written, seen=typed.known)
    except EditConflict as conflict:
        typed = replace(typed, known="", conflict=conflict)
        return await _answer_typed(site, visit, access, typed)
    except ValidationError as refusal:
        faults = [("body", _describe_fault(each)) for each in refusal.faults]
        return await _answer_typed(site, visit, access, replace(typed, faults=faults))
    workflow_id = opened.workflow_id
    if do == "remove":
        return site.redirect(visit, access, "texts", workflow_id=workflow_id, done="removed")
    where = name_place(place)
    return site.redirect(visit, access, "text", workflow_id=workflow_id, **where, done="saved")


async def _answer_typed(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, typed: _Typed | None
) -> Response:
    """typed: None: the text as it stands."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")

    async def answer() -> Response:
        page = await _describe(site, visit, access, typed)
        return site.answer_at(visit, access, page, typed.status if typed else 200)

    return await site.previews.run(visit, access.person.user_id, answer)


async def _describe(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, typed: _Typed | None
) -> TextPage:
    """The transaction is over before the text is looked over and written."""
    async with site.work(access) as work:
        opened = await open_asked(work, visit)
        place = read_place(visit, opened.definition)
        standing = find_text(opened.definition, place)
        typed = typed or _Typed(standing or TextContent())
        wanted = replace_text(opened.definition, place, typed.written)
        placeholders, message, problem = await _prepare_sample(site, work, wanted, place)
    sample = None
    try:
        if message is not None:
            sample = await render_preview(message, printer=None)
    except MerchantNotConfigured:
        placeholders, problem = [], "NOT_CONFIGURED"
    except ValidationError as refusal:
        problem = describe_faults(refusal)[0]
    configuration = access.merchant.configuration
    return TextPage(
        opened=opened,
        place=place,
        where=name_place(place, "" if opened.is_newest else opened.version.name),
        is_there=standing is not None,
        typed=typed.written,
        known=typed.known or compute_revision(standing),
        review=await run_in_thread(review_text, wanted, place, configuration),
        most_words=MAX_SENTENCE_WORDS,
        placeholders=placeholders,
        sample=sample,
        problem=problem,
        currency=configuration.currency,
        faults=typed.faults,
        conflict=typed.conflict,
    )


async def _prepare_sample(
    site: PortalSite, work: Work, wanted: Definition, place: TextPlace
) -> tuple[list[PlaceholderExample], PreparedMessage | None, str]:
    """What placeholders become, and the text for a made-up debtor; else why not."""
    placeholders: list[PlaceholderExample] = []
    try:
        writer = await prepare_trial_writer(work, site.resources, wanted)
        placeholders = list_placeholders(work, writer, place)
        if place.channel is None or find_text(wanted, place) is None:
            return placeholders, None, ""
        asked = WantedMessage(place.name, place.channel, place.language)
        message = await prepare_message(work, site.resources, wanted, asked)
    except MerchantNotConfigured:
        return [], None, "NOT_CONFIGURED"
    except ValidationError as refusal:
        return placeholders, None, describe_faults(refusal)[0]
    return placeholders, message, ""


def _read_typed(fields: FormFields) -> TextContent:
    """With what is to be put in at the end of it, for who has no scripts."""
    body = fields["body"].replace("\r\n", "\n")
    if fields["insert"]:
        body = f"{body.rstrip()} {{{{ {fields['insert']} }}}}".lstrip()
    return TextContent(body.strip("\n"), fields.text("subject"))


def _describe_fault(fault: Fault) -> str:
    text = describe_text_fault(fault)
    if isinstance(text, LazyText):
        return text
    return LazyText("This template cannot be saved. Check your entries.")


def _find_faults(visit: PortalRequest, typed: TextContent) -> list[tuple[str, str]]:
    """Of the form: what could not be kept at all."""
    faults = list[tuple[str, str]]()
    if not typed.body.strip():
        faults.append(("body", TEXT_FAULTS["REQUIRED"]))
    if visit.ask("channel") in ("EMAIL", "LETTER") and not typed.subject:
        faults.append(("subject", TEXT_FAULTS["REQUIRED"]))
    if max(len(typed.body), len(typed.subject)) > _MOST_CHARACTERS:
        faults.append(("body", TEXT_FAULTS["TOO_LONG"]))
    return faults


@at_merchant
@in_preview_turn
async def show_simulation(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    typed = visit.ask("start")
    start_on = read_day(typed)
    prepared, simulation, problem = None, None, ""
    async with site.work(access) as work:
        opened = await open_asked(work, visit)
        subject = await find_subject(work, visit, access)
        played = SimulationScope(subject.claim_id, subject.case, start_on)
        try:
            prepared = await prepare_simulation(work, site.resources, opened.definition, played)
        except MerchantNotConfigured:
            problem = "NOT_CONFIGURED"
    if prepared is not None:
        simulation, problem = await _simulate(site, prepared)
    page = SimulationPage(
        opened=opened,
        version="" if opened.is_newest else opened.version.name,
        subject=subject,
        cases=SAMPLE_CASES,
        start_typed=typed,
        start_error=bool(typed) and start_on is None,
        simulation=simulation,
        problem=problem,
        holidays=_name_holidays(opened.definition, simulation, site.frame(visit, access).language),
        currency=access.merchant.configuration.currency,
        start_on=start_on,
    )
    return site.answer_at(visit, access, page)


async def _simulate(
    site: PortalSite, prepared: PreparedSimulation
) -> tuple[Simulation | None, str]:
    """No transaction is open. The simulation, or why there is none."""
    try:
        return await simulate(prepared, printer=site.preview_printer), ""
    except MerchantNotConfigured:
        return None, "NOT_CONFIGURED"


def _name_holidays(
    definition: Definition, simulation: Simulation | None, language: str
) -> dict[date, str]:
    region = definition.settings.holidays
    if region is None or simulation is None:
        return {}
    told = {reason.day for step in simulation.steps for reason in step.reasons}
    return {day: name for day in told if (name := find_holiday_name(region, day, language))}


PAGES: RoutedPages = {
    "texts": {"GET": show_texts},
    "text": {"GET": show_text, "POST": submit_text},
    "simulate": {"GET": show_simulation},
}
