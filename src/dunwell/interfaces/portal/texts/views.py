"""What the pages of templates show, and what their addresses name: which text, for which claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import MessagePreview, WantedMessage
from dunwell.cases.rollout.preview.sample_contact import SAMPLE_CASES, SampleCase
from dunwell.cases.rollout.texts.edit_text import TextReview, WorkflowTexts, get_workflow_texts
from dunwell.cases.rollout.texts.grid import TextGrid
from dunwell.cases.rollout.trials.simulate import Simulation
from dunwell.cases.rollout.trials.sms_costs import SmsCosts
from dunwell.cases.rollout.trials.trial_messages import PlaceholderExample
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.texts import Group, TextContent, TextPlace
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.looking import find_typed_claims, open_claim, read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, NotFound, ValidationError

# As long as a name may be, and what somebody types for a claim.
_MAX_NAME_LENGTH, _MAX_REFERENCE_LENGTH = 255, 200


@dataclass(frozen=True, slots=True)
class PreviewSubject:
    """Whose claim a text is shown for. `claim_id`: None: one that is made up, by its `case`.
    `is_unknown`: what was typed is no claim, or several: the made-up one stands in its place."""

    case: SampleCase = "USUAL"
    typed: str = ""
    claim_id: int | None = None
    is_unknown: bool = False


async def get_requested_texts(work: Work, request: PortalRequest) -> WorkflowTexts:
    """The version that the address names, else the draft, else the latest. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    return await get_workflow_texts(
        work, read_id(request, "workflow_id"), request.ask("version") or None
    )


def parse_text_place(request: PortalRequest, definition: Definition) -> TextPlace:
    """Nothing need be written there yet. Raises NotFound for what can be no place."""
    language, channel = request.ask("language"), request.ask("channel")
    template, snippet = request.ask("template"), request.ask("snippet")
    name = template or snippet
    if language not in definition.settings.languages or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise NotFound("There is no such text.")
    if snippet and not template and not channel:
        return TextPlace("snippets", snippet, language)
    found = next((each for each in CHANNELS if each == channel), None)
    group: Group = "templates"
    if found is None or snippet:
        raise NotFound("There is no such text.")
    return TextPlace(group, template, language, found)


def parse_wanted_message(
    request: PortalRequest, definition: Definition, subject: PreviewSubject
) -> WantedMessage:
    """A text that is there, or may be. Raises NotFound."""
    place = parse_text_place(request, definition)
    if place.channel is None:
        raise NotFound("A snippet is no message.")
    return WantedMessage(
        place.name,
        place.channel,
        language=place.language,
        claim_id=subject.claim_id,
        case=subject.case,
    )


async def load_subject(
    work: Work, request: PortalRequest, access: MerchantAccess
) -> PreviewSubject:
    """A look at a claim is kept, where a merchant's own staff looks."""
    work.require(Right.READ_CLAIMS)
    case = next((each for each in SAMPLE_CASES if each == request.ask("case")), SAMPLE_CASES[0])
    typed = request.ask("claim")[:_MAX_REFERENCE_LENGTH]
    if not typed:
        return PreviewSubject(case)
    found = await find_typed_claims(work, typed)
    if len(found) != 1:
        return PreviewSubject(case, typed, is_unknown=True)
    await open_claim(work, access, found[0])
    return PreviewSubject(case, typed, found[0])


def list_fault_codes(refusal: ValidationError) -> list[str]:
    """By their codes."""
    return [fault.code for fault in refusal.faults]


def build_place_query(place: TextPlace, version: str = "") -> dict[str, str | None]:
    """As the query of an address has it."""
    name = "template" if place.group == "templates" else "snippet"
    return {
        name: place.name, "channel": place.channel, "language": place.language, "version": version,
    }  # fmt: skip


def build_audit_subject(workflow_id: UUID) -> str:
    """In the audit log."""
    return f"workflow:{workflow_id}"


class TemplatesPage(Page, frozen=True):
    template: ClassVar[str] = "texts.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    grid: TextGrid
    channels: Sequence[Channel]


class TextPage(Page, frozen=True):
    """typed: what stands in the form. known: what the text was, when the form was shown. sample:
    None: it cannot be written; why not is in `problem`, by code. faults: of the form, by field and
    code."""

    template: ClassVar[str] = "text.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    place: TextPlace
    place_query: Mapping[str, str | None]
    exists: bool
    typed: TextContent
    known_revision: str
    review: TextReview
    max_sentence_words: int
    placeholders: Sequence[PlaceholderExample]
    sample: MessagePreview | None
    problem: str
    # Of what a message costs.
    currency: str
    faults: Sequence[tuple[str, str]]
    conflict: EditConflict | None


class TextPreviewPage(Page, frozen=True):
    """preview: None: there is none, for the reasons in `problems` (codes). sent: what became of a
    test to oneself, by code; "": none was sent. costs: of an SMS. own_email: of who looks."""

    template: ClassVar[str] = "text_preview.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    place: TextPlace
    place_query: Mapping[str, str | None]
    # The same, with the claim.
    shown: Mapping[str, str | None]
    subject: PreviewSubject
    cases: Sequence[SampleCase]
    channels: Sequence[Channel]
    preview: MessagePreview | None
    problems: Sequence[str]
    costs: SmsCosts | None
    currency: str
    own_email: str
    sent: str
    has_mail_channel: bool


class SimulationPage(Page, frozen=True):
    """start_error: what was typed as a day is none. problem: why nothing can be played, by code."""

    template: ClassVar[str] = "simulation.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    version: str
    subject: PreviewSubject
    cases: Sequence[SampleCase]
    start_typed: str
    start_error: bool
    simulation: Simulation | None
    problem: str
    # By name, those that are told.
    holidays: Mapping[date, str]
    # What messages cost is in the merchant's.
    currency: str
    start_on: date | None
