"""What a preview adds up: how next contacts change, and what a workflow would do over a window of
days. Pure.
"""

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
from dunwell.contact.escalation.process import Process
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
from dunwell.core.workflows.definition import ContactStep, Definition, Texts
from dunwell.platform.errors import Fault, ValidationError

# A contact that is farther away is none.
_FARTHEST = timedelta(days=3_650)
_MAX_CACHED = 1_000


class ContactChangeKind(StrEnum):
    """What becomes of a claim's next contact; each claim that a draft reaches is of one kind."""

    UNCHANGED = "UNCHANGED"
    CHANGED = "CHANGED"
    GONE = "GONE"
    NEW = "NEW"
    # Held without end: not contacted until somebody lifts the hold.
    HELD = "HELD"
    # Whether its last contact was made has to be settled by a person first.
    UNSETTLED = "UNSETTLED"


class ContactAspect(StrEnum):
    """What of a contact differs."""

    TIME = "TIME"
    CHANNEL = "CHANNEL"
    STEP = "STEP"
    # Its template, snippets or attachments.
    CONTENT = "CONTENT"


class NextContact(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    at: datetime
    channel: Channel
    step_id: int
    name: str


class ClaimContactChange(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One claim's next contact before and after; both are None for those that are not played."""

    claim_id: int
    reference_number: str
    kind: ContactChangeKind
    before: NextContact | None = None
    after: NextContact | None = None
    # Of a changed one.
    aspects: tuple[ContactAspect, ...] = ()


# Step and channel of contacts that would say or carry something else.
ChangedContents = frozenset[tuple[int, Channel]]


class NextContacts:
    """The next contacts of many claims under one process. Where no step asks for the claim's own
    facts, claims that stand alike (those of one request, as a rule) are asked for once."""

    def __init__(self, process: Process, now: datetime, quiet: Guard) -> None:
        """`quiet`: holds back what falls into quiet hours."""
        self._process = process
        self._now = now
        self._quiet = quiet
        self._has_guards = any(step.when is not None for step in process.steps)
        self._known: dict[object, NextContact | None] = {}

    def find(
        self, standing: WorkflowPosition | PendingContact, facts: StepFacts
    ) -> NextContact | None:
        if self._has_guards or isinstance(standing, PendingContact):
            return self._foresee(standing, facts)
        key = (
            standing.next_step_id,
            standing.due_at,
            facts.usable_channels,
            facts.tried,
            facts.letter_sent_at,
        )
        if key not in self._known:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[key] = self._foresee(standing, facts)
        return self._known[key]

    def _foresee(
        self, standing: WorkflowPosition | PendingContact, facts: StepFacts
    ) -> NextContact | None:
        until = self._now + _FARTHEST
        for each in forecast(
            self._process, standing, facts, self._now, until=until, guard=self._quiet
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
    aspects = tuple(_find_aspects(before, after, changed))
    return (ContactChangeKind.CHANGED if aspects else ContactChangeKind.UNCHANGED), aspects


def find_changed_contents(before: Definition, after: Definition) -> ChangedContents:
    """Where a step that both have would say or carry something else by a channel."""
    steps_before = {step.id: step for step in before.steps}
    return frozenset(
        (step.id, channel)
        for step in after.steps
        if isinstance(step, ContactStep)
        and isinstance(old := steps_before.get(step.id), ContactStep)
        for channel in list_channels(step)
        if _content_of(before, old, channel) != _content_of(after, step, channel)
    )


def has_same_course(before: Definition, after: Definition) -> bool:
    """Whether every claim has the same contacts and fees at the same instants under both."""
    return before.settings == after.settings and [*map(_course_of, before.steps)] == [
        *map(_course_of, after.steps)
    ]


def _course_of(step: object) -> object:
    if isinstance(step, ContactStep):
        return step.id, step.name, step.when, step.send, list_channels(step)
    return step


def _find_aspects(
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


def _content_of(definition: Definition, step: ContactStep, channel: Channel) -> object:
    """All that a message is made of, but for the claim; no template: the step's name of one."""
    template = definition.templates.get(step.template)
    if template is None:
        return step.template
    part = {"EMAIL": template.email, "SMS": template.sms, "LETTER": template.letter}[channel]
    texts: list[Texts] = [getattr(part, name) for name in part.__struct_fields__] if part else []
    used = {name for text in texts for each in text.values() for name in list_snippets(each)}
    snippets = {name: definition.snippets.get(name) for name in used}
    return part, snippets, step.attachments


# The examples kept: the highest fees, the first claims nobody can reach.
MAX_EXAMPLES = 10


# A step, the channel it contacts by, and the country that goes to.
SentKey = tuple[int, Channel, str]


class DebtorFees(msgspec.Struct, frozen=True, gc=False, order=True, rename="camel"):
    """The fees of one debtor, and one of the claims they are added to."""

    cents: int
    fees: int
    claims: int
    reference_number: str


@dataclass(slots=True)
class PreviewOutlook:
    """Days are the merchant's."""

    since: datetime
    until: datetime
    claims: int = 0
    persons: int = 0
    contacts: Counter[tuple[date, Channel]] = field(default_factory=Counter)
    # Contacts kept back, on the day that happens; one may be kept back more than once.
    held_back: Counter[tuple[date, HoldReason]] = field(default_factory=Counter)
    # Sum in cents -> debtors who get fees of that sum.
    fee_sums: Counter[int] = field(default_factory=Counter)
    fees: int = 0
    highest_fees: list[DebtorFees] = field(default_factory=list)
    # Claims with contacts to come, and no usable address for any of them.
    unreachable: int = 0
    unreachable_examples: list[str] = field(default_factory=list)
    # Steps that would find no usable channel in the window.
    missed_contacts: int = 0
    archived: int = 0
    # Contacts by what their price goes by.
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
        """What one claim does on a day; answers the fees in cents. countries: where a contact by a
        channel goes, of those whose price goes by it."""
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

# Claims done, and all.
ProgressCallback = Callable[[int, int], None]
ContactChangeCallback = Callable[[ClaimContactChange], None]


@dataclass(frozen=True, slots=True)
class PreviewScope:
    """What is wanted of a preview. 0 days: next contacts alone, nothing is played forward."""

    days: int = DEFAULT_PREVIEW_DAYS
    # Claims kept in `listed`; those whose next contact does not differ are not among them.
    listed: int = 20
    progress: ProgressCallback | None = None
    # Is given every claim that is reached, in the order of persons.
    sink: ContactChangeCallback | None = None
    # Whether what messages cost is foreseen too: the process as it stands is played beside the
    # change.
    costs: bool = False

    def check(self) -> None:
        """Raises ValidationError."""
        if not 0 <= self.days <= MAX_PREVIEW_DAYS:
            message = f"Give a number of days from 0 to {MAX_PREVIEW_DAYS}."
            raise ValidationError([Fault("/days", message, "OUT_OF_RANGE")])


@dataclass(slots=True)
class PreviewEffects:
    """What a change does to the claims it reaches."""

    claims: int = 0
    counts: Counter[ContactChangeKind] = field(default_factory=Counter)
    # Of the changed ones; one may differ in several.
    aspects: Counter[ContactAspect] = field(default_factory=Counter)
    listed: list[ClaimContactChange] = field(default_factory=list)
    outlook: PreviewOutlook | None = None
    # Of the process as it stands; none unless costs were asked for.
    outlook_before: PreviewOutlook | None = None

    def add(self, claim: ClaimContactChange, asked: PreviewScope) -> None:
        self.claims += 1
        self.counts[claim.kind] += 1
        self.aspects.update(claim.aspects)
        if claim.kind in _LISTED and len(self.listed) < asked.listed:
            self.listed.append(claim)
        if asked.sink is not None:
            asked.sink(claim)


_LISTED = frozenset({ContactChangeKind.CHANGED, ContactChangeKind.GONE, ContactChangeKind.NEW})
