"""The grid of a workflow's templates, the editor of one template, and the simulation of a workflow
on one claim."""

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
    build_place_query,
    get_requested_texts,
    list_fault_codes,
    load_subject,
    parse_text_place,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import (
    RoutedPages,
    at_merchant,
    in_preview_turn,
    takes_form_at_merchant,
)
from dunwell.interfaces.portal.web.lists import parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import (
    EditConflict,
    Fault,
    MerchantNotConfigured,
    NotFound,
    ValidationError,
)
from dunwell.platform.text.differences import compute_revision
from dunwell.platform.text.translation import LazyText

# The maximum length of a text in a definition.
_MAX_CHARACTERS = 20_000


@at_merchant
async def get_texts_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    async with site.open_work(access) as work:
        opened = await get_requested_texts(work, request)
    grid = await run_in_thread(build_text_grid, opened.definition, access.merchant.configuration)
    return site.render_merchant_page(request, access, TemplatesPage(opened, grid, CHANNELS))


@at_merchant
async def get_text_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_text_page(site, request, access, None)


@dataclass(frozen=True, slots=True)
class _TextForm:
    """The values of the form. `known_revision` is the revision of the text when the form was
    rendered; "" means the current one. `faults` are pairs of field and message."""

    content: TextContent
    known_revision: str = ""
    faults: Sequence[tuple[str, str]] = ()
    conflict: EditConflict | None = None

    @property
    def status(self) -> int:
        return 409 if self.conflict else 422 if self.faults else 200


@takes_form_at_merchant
async def submit_text(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Check the text, insert a placeholder, save the text in the draft, or remove it."""
    do, typed = fields["do"], _TextForm(_get_typed_text(fields), fields["revision"])
    if do == "save":
        typed = replace(typed, faults=_list_form_faults(request, typed.content))
    if do not in ("save", "remove") or typed.faults:
        return await _render_text_page(site, request, access, typed)
    content = typed.content if do == "save" else None
    try:
        async with site.open_work(access) as work:
            opened = await get_requested_texts(work, request)
            place = parse_text_place(request, opened.definition)
            await edit_text(
                work, opened.workflow_id, place, content, expected_revision=typed.known_revision
            )
    except EditConflict as conflict:
        typed = replace(typed, known_revision="", conflict=conflict)
        return await _render_text_page(site, request, access, typed)
    except ValidationError as refusal:
        faults = [("body", _describe_fault(each)) for each in refusal.faults]
        return await _render_text_page(site, request, access, replace(typed, faults=faults))
    workflow_id = opened.workflow_id
    if do == "remove":
        return site.redirect(request, access, "texts", workflow_id=workflow_id, done="removed")
    place_query = build_place_query(place)
    return site.redirect(
        request, access, "text", workflow_id=workflow_id, **place_query, done="saved"
    )


async def _render_text_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, typed: _TextForm | None
) -> Response:
    """Render the editor with the entered text, or with the stored one if `typed` is None."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")

    async def render() -> Response:
        page = await _build_text_page(site, request, access, typed)
        return site.render_merchant_page(request, access, page, typed.status if typed else 200)

    return await site.previews.run(request, access.person.user_id, render)


async def _build_text_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, typed: _TextForm | None
) -> TextPage:
    """Build the page. The transaction ends before the text is reviewed and rendered."""
    async with site.open_work(access) as work:
        opened = await get_requested_texts(work, request)
        place = parse_text_place(request, opened.definition)
        stored = find_text(opened.definition, place)
        typed = typed or _TextForm(stored or TextContent())
        wanted = replace_text(opened.definition, place, typed.content)
        placeholders, message, problem = await _prepare_sample(site, work, wanted, place)
    sample = None
    try:
        if message is not None:
            sample = await render_preview(message, printer=None)
    except MerchantNotConfigured:
        placeholders, problem = [], "NOT_CONFIGURED"
    except ValidationError as refusal:
        problem = list_fault_codes(refusal)[0]
    configuration = access.merchant.configuration
    return TextPage(
        opened=opened,
        place=place,
        place_query=build_place_query(place, "" if opened.is_newest else opened.version.name),
        exists=stored is not None,
        typed=typed.content,
        known_revision=typed.known_revision or compute_revision(stored),
        review=await run_in_thread(review_text, wanted, place, configuration),
        max_sentence_words=MAX_SENTENCE_WORDS,
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
    """Return the values of the placeholders, and the message for a sample debtor or the reason why
    there is none."""
    placeholders: list[PlaceholderExample] = []
    try:
        writer = await prepare_trial_writer(work, site.resources, wanted)
        placeholders = list_placeholders(work, writer, place)
        if place.channel is None or find_text(wanted, place) is None:
            return placeholders, None, ""
        wanted_message = WantedMessage(place.name, place.channel, place.language)
        message = await prepare_message(work, site.resources, wanted, wanted_message)
    except MerchantNotConfigured:
        return [], None, "NOT_CONFIGURED"
    except ValidationError as refusal:
        return placeholders, None, list_fault_codes(refusal)[0]
    return placeholders, message, ""


def _get_typed_text(fields: FormFields) -> TextContent:
    """Return the entered text. Without scripts, a chosen placeholder is appended to it."""
    body = fields["body"].replace("\r\n", "\n")
    if fields["insert"]:
        body = f"{body.rstrip()} {{{{ {fields['insert']} }}}}".lstrip()
    return TextContent(body.strip("\n"), fields.text("subject"))


def _describe_fault(fault: Fault) -> str:
    text = describe_text_fault(fault)
    if isinstance(text, LazyText):
        return text
    return LazyText("This template cannot be saved. Check your entries.")


def _list_form_faults(request: PortalRequest, typed: TextContent) -> list[tuple[str, str]]:
    """Return the faults that prevent the text from being saved."""
    faults = list[tuple[str, str]]()
    if not typed.body.strip():
        faults.append(("body", TEXT_FAULTS["REQUIRED"]))
    if request.get_parameter("channel") in ("EMAIL", "LETTER") and not typed.subject:
        faults.append(("subject", TEXT_FAULTS["REQUIRED"]))
    if max(len(typed.body), len(typed.subject)) > _MAX_CHARACTERS:
        faults.append(("body", TEXT_FAULTS["TOO_LONG"]))
    return faults


@at_merchant
@in_preview_turn
async def get_simulation_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    typed = request.get_parameter("start")
    start_on = parse_day(typed)
    prepared, simulation, problem = None, None, ""
    async with site.open_work(access) as work:
        opened = await get_requested_texts(work, request)
        subject = await load_subject(work, request, access)
        scope = SimulationScope(subject.claim_id, subject.case, start_on)
        try:
            prepared = await prepare_simulation(work, site.resources, opened.definition, scope)
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
        holidays=_list_holiday_names(
            opened.definition, simulation, site.build_context(request, access).language
        ),
        currency=access.merchant.configuration.currency,
        start_on=start_on,
    )
    return site.render_merchant_page(request, access, page)


async def _simulate(
    site: PortalSite, prepared: PreparedSimulation
) -> tuple[Simulation | None, str]:
    """Return the simulation, or the reason why there is none. No transaction is open."""
    try:
        return await simulate(prepared, printer=site.preview_printer), ""
    except MerchantNotConfigured:
        return None, "NOT_CONFIGURED"


def _list_holiday_names(
    definition: Definition, simulation: Simulation | None, language: str
) -> dict[date, str]:
    region = definition.settings.holidays
    if region is None or simulation is None:
        return {}
    days = {reason.day for step in simulation.steps for reason in step.reasons}
    return {day: name for day in days if (name := find_holiday_name(region, day, language))}


PAGES: RoutedPages = {
    "texts": {"GET": get_texts_page},
    "text": {"GET": get_text_page, "POST": submit_text},
    "simulate": {"GET": get_simulation_page},
}
