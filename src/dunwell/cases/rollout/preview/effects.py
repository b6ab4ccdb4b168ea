"""The sums of a preview: how next contacts change, and what a workflow would do within a number of
days. Pure."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.forecast.forecast import (
    ForecastStep,
    Guard,
    PendingContact,
    forecast,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import (
    Archived,
    FeeAdded,
    NobodyReachable,
    StepFacts,
    WorkflowPosition,
    list_channels,
)
from dunwell.contact.messages.guards.guards import HoldReason
from dunwell.contact.messages.templates.placeholders import list_snippets
from dunwell.contact.sending.report import UNKNOWN_COUNTRY
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.texts import get_channel_texts
from dunwell.platform.errors import Fault, ValidationError

# A contact that is further away is ignored.
_FARTHEST = timedelta(days=3_650)
_MAX_CACHED = 1_000


class ContactChangeKind(StrEnum):
    """How a claim's next contact changes. Each claim that a draft reaches has one kind."""

    UNCHANGED = "UNCHANGED"
    CHANGED = "CHANGED"
    GONE = "GONE"
    NEW = "NEW"
    # On hold without an end: not contacted until the hold is lifted.
    HELD = "HELD"
    # A person has to resolve first whether the last contact was sent.
    UNSETTLED = "UNSETTLED"


class ContactAspect(StrEnum):
    """What differs between two contacts."""

    TIME = "TIME"
    CHANNEL = "CHANNEL"
    STEP = "STEP"
    # The template, snippets or attachments.
    CONTENT = "CONTENT"


class NextContact(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    at: datetime
    channel: Channel
    step_id: int
    name: str


class ClaimContactChange(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A claim's next contact before and after. Both are None for a claim that is not forecast."""

    claim_id: int
    reference_number: str
    kind: ContactChangeKind
    before: NextContact | None = None
    after: NextContact | None = None
    # Set only for CHANGED.
    aspects: tuple[ContactAspect, ...] = ()


# The steps and channels of contacts whose content changes.
ChangedContents = frozenset[tuple[int, Channel]]


class NextContacts:
    """Finds the next contacts of many claims under one version. If no step has a condition, claims
    in the same position (such as those created by one request) share a result."""

    def __init__(self, workflow: PreparedWorkflow, now: datetime, quiet_guard: Guard) -> None:
        """Create the finder. `quiet_guard` delays contacts that fall into quiet hours."""
        self._workflow = workflow
        self._now = now
        self._quiet_guard = quiet_guard
        self._has_conditions = any(step.when is not None for step in workflow.steps)
        self._known: dict[object, NextContact | None] = {}

    def find(
        self, position: WorkflowPosition | PendingContact, facts: StepFacts
    ) -> NextContact | None:
        """Return the claim's next contact, or None if there is none within ten years."""
        if self._has_conditions or isinstance(position, PendingContact):
            return self._forecast(position, facts)
        key = (
            position.next_step_id,
            position.due_at,
            facts.usable_channels,
            facts.tried,
            facts.letter_sent_at,
        )
        if key not in self._known:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[key] = self._forecast(position, facts)
        return self._known[key]

    def _forecast(
        self, position: WorkflowPosition | PendingContact, facts: StepFacts
    ) -> NextContact | None:
        until = self._now + _FARTHEST
        for each in forecast(
            self._workflow, position, facts, self._now, until=until, guard=self._quiet_guard
        ):
            if each.channel is not None and each.step is not None:
                return NextContact(each.at, each.channel, each.step.id, each.step.name)
        return None


def compare_contacts(
    before: NextContact | None, after: NextContact | None, changed: ChangedContents
) -> tuple[ContactChangeKind, tuple[ContactAspect, ...]]:
    if before is None:
        return (ContactChangeKind.UNCHANGED if after is None else ContactChangeKind.NEW), ()
    if after is None:
        return ContactChangeKind.GONE, ()
    aspects = tuple(_list_aspects(before, after, changed))
    return (ContactChangeKind.CHANGED if aspects else ContactChangeKind.UNCHANGED), aspects


def list_changed_contents(before: Definition, after: Definition) -> ChangedContents:
    """Return the steps and channels whose content differs between the two definitions."""
    steps_before = {step.id: step for step in before.steps}
    return frozenset(
        (step.id, channel)
        for step in after.steps
        if isinstance(step, ContactStep)
        and isinstance(old := steps_before.get(step.id), ContactStep)
        for channel in list_channels(step)
        if _build_content(before, old, channel) != _build_content(after, step, channel)
    )


def has_same_course(before: Definition, after: Definition) -> bool:
    """Return whether every claim has the same contacts and fees at the same times under both
    definitions."""
    return before.settings == after.settings and [*map(_build_course, before.steps)] == [
        *map(_build_course, after.steps)
    ]


def _build_course(step: object) -> object:
    if isinstance(step, ContactStep):
        return step.id, step.name, step.when, step.send, list_channels(step)
    return step


def _list_aspects(
    before: NextContact, after: NextContact, changed: ChangedContents
) -> Iterator[ContactAspect]:
    if before.at != after.at:
        yield ContactAspect.TIME
    if before.channel != after.channel:
        yield ContactAspect.CHANNEL
    if before.step_id != after.step_id:
        yield ContactAspect.STEP
    elif (after.step_id, after.channel) in changed:
        yield ContactAspect.CONTENT


def _build_content(definition: Definition, step: ContactStep, channel: Channel) -> object:
    """Return everything that a message is made of except the claim. If the template is missing,
    return its name."""
    template = definition.templates.get(step.template)
    if template is None:
        return step.template
    texts = get_channel_texts(template, channel)
    used = {
        name for each in texts.values() for text in each.values() for name in list_snippets(text)
    }
    snippets = {name: definition.snippets.get(name) for name in used}
    return texts, snippets, step.attachments


# How many examples are kept of the highest fees and of unreachable claims.
MAX_EXAMPLES = 10


# A step, the channel of a contact, and its destination country.
SentKey = tuple[int, Channel, str]


class DebtorFees(msgspec.Struct, frozen=True, gc=False, order=True, rename="camel"):
    """The fees of one debtor: their sum and number, the number of claims to which they are added,
    and one of these claims."""

    cents: int
    fees: int
    claims: int
    reference_number: str


@dataclass(slots=True)
class PreviewOutlook:
    """What a workflow would do within the previewed days, which are in the workflow's time zone."""

    since: datetime
    until: datetime
    claims: int = 0
    persons: int = 0
    contacts: Counter[tuple[date, Channel]] = field(default_factory=Counter)
    # Delayed contacts by the day of the delay. One contact may be delayed several times.
    held_back: Counter[tuple[date, HoldReason]] = field(default_factory=Counter)
    # Total fees in cents -> number of debtors who get that total.
    fee_sums: Counter[int] = field(default_factory=Counter)
    fees: int = 0
    # A heap of the debtors with the highest fees, at most MAX_EXAMPLES.
    highest_fees: list[DebtorFees] = field(default_factory=list)
    # Claims with contacts to come and no usable address for any of them.
    unreachable: int = 0
    unreachable_examples: list[str] = field(default_factory=list)
    # Steps that would find no usable channel within the previewed days.
    missed_contacts: int = 0
    archived: int = 0
    # Contacts by the properties that determine their price.
    sent: Counter[SentKey] = field(default_factory=Counter)

    def add_claim(self, reference_number: str, *, is_reachable: bool) -> None:
        self.claims += 1
        if is_reachable:
            return
        self.unreachable += 1
        if len(self.unreachable_examples) < MAX_EXAMPLES:
            self.unreachable_examples.append(reference_number)

    def add_foreseen(
        self, foreseen: Iterable[ForecastStep], day: date, countries: Mapping[Channel, str]
    ) -> list[int]:
        """Add what one claim does on a day, and return its fees in cents. `countries` has the
        destination of channels whose price depends on it."""
        fees = []
        for each in foreseen:
            if each.channel is not None:
                self.contacts[day, each.channel] += 1
                if each.step is not None:
                    country = countries.get(each.channel, UNKNOWN_COUNTRY)
                    self.sent[each.step.id, each.channel, country] += 1
            elif isinstance(each.outcome, FeeAdded):
                fees.append(int(each.outcome.step.value))
            elif isinstance(each.outcome, NobodyReachable):
                self.missed_contacts += 1
            elif isinstance(each.outcome, Archived):
                self.archived += 1
        return fees

    def add_debtor(self, fees: DebtorFees) -> None:
        self.persons += 1
        if not fees.cents:
            return
        self.fee_sums[fees.cents] += 1
        self.fees += fees.fees
        if len(self.highest_fees) < MAX_EXAMPLES:
            heapq.heappush(self.highest_fees, fees)
        else:
            heapq.heappushpop(self.highest_fees, fees)

    def add_hold(self, day: date, held_by: HoldReason) -> None:
        self.held_back[day, held_by] += 1


MAX_PREVIEW_DAYS = 365
DEFAULT_PREVIEW_DAYS = 30

# Called with the number of claims that are previewed already, and with that of all claims.
ProgressCallback = Callable[[int, int], None]
ContactChangeCallback = Callable[[ClaimContactChange], None]


@dataclass(frozen=True, slots=True)
class PreviewScope:
    """What a preview computes. With 0 days, it computes only the next contacts."""

    days: int = DEFAULT_PREVIEW_DAYS
    # The most claims that `PreviewEffects.listed` contains. Claims with an unchanged next contact
    # are not listed.
    listed: int = 20
    progress: ProgressCallback | None = None
    # Called with each claim that the draft reaches, ordered by person.
    sink: ContactChangeCallback | None = None
    # True to compute the messages' costs, for which the present version is forecast as well.
    costs: bool = False

    def check(self) -> None:
        """Check the number of days. Raises ValidationError."""
        if not 0 <= self.days <= MAX_PREVIEW_DAYS:
            message = f"Give a number of days from 0 to {MAX_PREVIEW_DAYS}."
            raise ValidationError([Fault("/days", message, "OUT_OF_RANGE")])


@dataclass(slots=True)
class PreviewEffects:
    """The effect of a draft on the claims that it reaches."""

    claims: int = 0
    counts: Counter[ContactChangeKind] = field(default_factory=Counter)
    # Counts of the changed contacts. One contact may differ in several aspects.
    aspects: Counter[ContactAspect] = field(default_factory=Counter)
    listed: list[ClaimContactChange] = field(default_factory=list)
    outlook: PreviewOutlook | None = None
    # The outlook of the present version; None unless costs were requested.
    outlook_before: PreviewOutlook | None = None

    def add(self, claim: ClaimContactChange, scope: PreviewScope) -> None:
        self.claims += 1
        self.counts[claim.kind] += 1
        self.aspects.update(claim.aspects)
        if claim.kind in _LISTED and len(self.listed) < scope.listed:
            self.listed.append(claim)
        if scope.sink is not None:
            scope.sink(claim)


_LISTED = frozenset({ContactChangeKind.CHANGED, ContactChangeKind.GONE, ContactChangeKind.NEW})
