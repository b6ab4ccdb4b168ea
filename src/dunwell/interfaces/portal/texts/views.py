"""What the pages of texts show."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.rollout.preview.preview_message import MessagePreview
from dunwell.cases.rollout.preview.sample_contact import Case
from dunwell.cases.rollout.texts.edit_text import OpenedTexts, Review
from dunwell.cases.rollout.texts.grid import TextGrid
from dunwell.cases.rollout.trials.simulate import Simulation
from dunwell.cases.rollout.trials.sms_costs import SmsCosts
from dunwell.cases.rollout.trials.writing import ShownPlaceholder
from dunwell.core.workflows.text_places import Place, Written
from dunwell.interfaces.portal.texts.asking import Subject
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict


class TextsPage(Page, frozen=True):
    template: ClassVar[str] = "texts.html"
    area: ClassVar[str] = "workflows"

    opened: OpenedTexts
    grid: TextGrid
    channels: Sequence[Channel]


class TextPage(Page, frozen=True):
    """typed: what stands in the form. known: what the text was, when the form was shown. sample:
    None: it cannot be written; why not is in `problem`, by code. faults: of the form, by field and
    code."""

    template: ClassVar[str] = "text.html"
    area: ClassVar[str] = "workflows"

    opened: OpenedTexts
    place: Place
    where: Mapping[str, str | None]
    is_there: bool
    typed: Written
    known: str
    review: Review
    most_words: int
    placeholders: Sequence[ShownPlaceholder]
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

    opened: OpenedTexts
    place: Place
    where: Mapping[str, str | None]
    # The same, with the claim.
    shown: Mapping[str, str | None]
    subject: Subject
    cases: Sequence[Case]
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

    opened: OpenedTexts
    version: str
    subject: Subject
    cases: Sequence[Case]
    start_typed: str
    start_error: bool
    simulation: Simulation | None
    problem: str
    # By name, those that are told.
    holidays: Mapping[date, str]
    # What messages cost is in the merchant's.
    currency: str
    start_on: date | None
