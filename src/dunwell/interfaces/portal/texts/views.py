"""The pages of templates, and the text and the claim that their queries name."""

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
from dunwell.core.workflows.texts import TextContent, TextPlace
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    find_typed_claims,
    open_claim,
    parse_path_id,
)
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, NotFound, ValidationError

# The limits of a template's name, and of an entered claim reference.
_MAX_NAME_LENGTH, _MAX_REFERENCE_LENGTH = 255, 200


@dataclass(frozen=True, slots=True)
class PreviewSubject:
    """The claim for which a text is rendered. `claim_id` is None for the sample claim `case`.
    `is_unknown` is true if the entered reference matches no claim, or several; then the sample
    claim is used."""

    case: SampleCase = "USUAL"
    typed: str = ""
    claim_id: int | None = None
    is_unknown: bool = False


async def get_requested_texts(work: Work, request: PortalRequest) -> WorkflowTexts:
    """Return the texts of the version that the query names, else of the draft, else of the latest
    version. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    return await get_workflow_texts(
        work, parse_path_id(request, "workflow_id"), request.get_parameter("version") or None
    )


def parse_text_place(request: PortalRequest, definition: Definition) -> TextPlace:
    """Return the text that the query names; it need not exist yet. Raises NotFound if it cannot
    exist."""
    language, channel = request.get_parameter("language"), request.get_parameter("channel")
    template, snippet = request.get_parameter("template"), request.get_parameter("snippet")
    name = template or snippet
    if language not in definition.settings.languages or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise NotFound("There is no such text.")
    if snippet and not template and not channel:
        return TextPlace("snippets", snippet, language)
    found = next((each for each in CHANNELS if each == channel), None)
    if found is None or snippet:
        raise NotFound("There is no such text.")
    return TextPlace("templates", template, language, found)


def parse_wanted_message(
    request: PortalRequest, definition: Definition, subject: PreviewSubject
) -> WantedMessage:
    """Return the message that the query names. Raises NotFound."""
    place = parse_text_place(request, definition)
    if place.channel is None:
        raise NotFound("A snippet is not a message.")
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
    """Return the claim that the query names. A view by a merchant's own staff is recorded in the
    audit log."""
    work.require(Right.READ_CLAIMS)
    case = next(
        (each for each in SAMPLE_CASES if each == request.get_parameter("case")), SAMPLE_CASES[0]
    )
    typed = request.get_parameter("claim")[:_MAX_REFERENCE_LENGTH]
    if not typed:
        return PreviewSubject(case)
    found = await find_typed_claims(work, typed)
    if len(found) != 1:
        return PreviewSubject(case, typed, is_unknown=True)
    await open_claim(work, access, found[0])
    return PreviewSubject(case, typed, found[0])


def list_fault_codes(refusal: ValidationError) -> list[str]:
    return [fault.code for fault in refusal.faults]


def build_place_query(place: TextPlace, version: str = "") -> dict[str, str | None]:
    """Return the query of a text's URL."""
    name = "template" if place.group == "templates" else "snippet"
    return {
        name: place.name, "channel": place.channel, "language": place.language, "version": version,
    }  # fmt: skip


def build_audit_subject(workflow_id: UUID) -> str:
    """Return the subject of the workflow in the audit log."""
    return f"workflow:{workflow_id}"


class TemplatesPage(Page, frozen=True):
    template: ClassVar[str] = "texts.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    grid: TextGrid
    channels: Sequence[Channel]


class TextPage(Page, frozen=True):
    """The editor of a text. `typed` is the text in the form; `known_revision` is its revision when
    the form was rendered. `sample` is None if it cannot be rendered, for the reason in the code
    `problem`. `faults` are pairs of field and message."""

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
    # The currency of message costs.
    currency: str
    faults: Sequence[tuple[str, str]]
    conflict: EditConflict | None


class TextPreviewPage(Page, frozen=True):
    """The preview of a text. `preview` is None for the reasons in `problems` (codes). `sent` is the
    code of a test's outcome, or "" if none was sent. `costs` are those of an SMS. `own_email` is
    the user's address."""

    template: ClassVar[str] = "text_preview.html"
    area: ClassVar[str] = "workflows"

    opened: WorkflowTexts
    place: TextPlace
    place_query: Mapping[str, str | None]
    # `place_query` with the claim.
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
    """The simulation. `start_error` is true if the entered day is not a date. `problem` is the code
    of the reason why there is no simulation."""

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
    # The names of the holidays that delay a step.
    holidays: Mapping[date, str]
    # The currency of message costs.
    currency: str
    start_on: date | None
