"""Simulate a process on one claim, as if it began on a day: dates, channels, fees, the texts as
they would be written then, why on those days, and what sending costs.

Nothing is sent and nothing is stored. The facts are loaded in a transaction, which is over before
anything is written.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import find_reader
from dunwell.cases.rollout.preview.sample_contact import Case, SampleReader
from dunwell.cases.rollout.trials.simulating import (
    DayReason,
    SimulatedClaim,
    SimulatedEvent,
    play_through,
)
from dunwell.cases.rollout.trials.writing import TrialWish, TrialWriter, open_trial
from dunwell.contact.escalation.contacts.render_leased import foresee_pay_by
from dunwell.contact.escalation.due_claim import find_usable_channels
from dunwell.contact.escalation.forecast.running_claim import find_person
from dunwell.contact.escalation.schedule import NOTHING_TRIED, ContactPlanned, StepFacts
from dunwell.contact.escalation.store import load_claims
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.guards.store import load_contacted
from dunwell.contact.messages.identities import identify
from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.core.workflows.definition import Definition
from dunwell.platform.children.process import run_apart
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

# Of a template without a text for the channel.
NO_TEXT = "NO_TEXT"
# Letters are printed to know their pages; of more the price is not told.
_MOST_PRINTED = 20
# Messages that are written, and their characters in all, which is what the page can show at once; a
# workflow with more is shown without the texts of the rest.
_MOST_WRITTEN = 200
_MOST_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class Played:
    """Which claim, and when it begins. `claim_id`: None: a made-up one. `start_on`: None: today."""

    claim_id: int | None = None
    case: Case = "USUAL"
    start_on: date | None = None


@dataclass(frozen=True, slots=True)
class SimulatedText:
    """A message as it would be written. `cost`: in cents of the merchant's currency; None: nobody
    knows. `refused`: why the channel could not carry it, instead of a text."""

    template: str
    language: str = ""
    subject: str | None = None
    text: str = ""
    units: int = 1
    cost: Decimal | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    happening: SimulatedEvent
    text: SimulatedText | None

    @property
    def kind(self) -> str:
        """What happens, by the name of its outcome."""
        return type(self.happening.foreseen.outcome).__name__

    @property
    def channel(self) -> Channel | None:
        return self.happening.foreseen.channel

    @property
    def outcome(self) -> Any:
        return self.happening.foreseen.outcome

    @property
    def reasons(self) -> Sequence[DayReason]:
        return self.happening.reasons


@dataclass(frozen=True, slots=True)
class Simulation:
    """`cost`: of the messages whose price is known; `unpriced`: of the others, by channel. Money in
    cents; fees in `currency`, costs in the merchant's."""

    reader: SampleReader
    start: datetime
    timezone: str
    currency: str
    steps: Sequence[SimulatedStep]
    contacts: Mapping[Channel, int]
    fees_cents: int
    cost: Decimal
    unpriced: Mapping[Channel, int]

    @property
    def ends_at(self) -> datetime:
        return self.steps[-1].happening.at if self.steps else self.start


@dataclass(frozen=True, slots=True)
class PreparedSimulation:
    """All that is known of what is played: no transaction is needed any more."""

    writer: TrialWriter
    reader: SampleReader
    part: SimulatedClaim
    start: datetime


@dataclass(slots=True)
class _Stage:
    prepared: PreparedSimulation
    printer: LetterPrinter | None
    written: int = 0
    characters: int = 0
    printed: int = 0

    @property
    def writer(self) -> TrialWriter:
        return self.prepared.writer


async def prepare_simulation(
    work: Work, resources: Resources, definition: Definition, played: Played
) -> PreparedSimulation:
    """Raises NotFound (claim) and MerchantNotConfigured."""
    work.need(Right.CONFIGURE)
    writer = await open_trial(work, resources, definition)
    start = _find_start(work, writer, played)
    today = writer.process.calendar.local_date(start)
    reader = await find_reader(work, definition, played.claim_id, played.case, today=today)
    part = await _cast(work, resources, reader=reader, played=played, today=today)
    return PreparedSimulation(writer, reader, part, start)


async def simulate(prepared: PreparedSimulation, *, printer: LetterPrinter | None) -> Simulation:
    """Outside any transaction. printer: None: letters have no price."""
    reader = prepared.reader
    happenings = await run_apart(_play, prepared)
    stage = _Stage(prepared, printer)
    steps = [SimulatedStep(each, await _write(stage, each)) for each in happenings]
    return Simulation(
        reader=reader,
        start=prepared.start,
        timezone=str(prepared.writer.process.calendar.zone),
        currency=reader.claim.currency,
        steps=steps,
        contacts=Counter(each.channel for each in steps if each.channel),
        fees_cents=(happenings[-1].claim.fees_cents if happenings else reader.claim.fees_cents)
        - reader.claim.fees_cents,
        cost=sum((each.text.cost for each in steps if each.text and each.text.cost), Decimal(0)),
        unpriced=Counter(each.channel for each in steps if each.channel and not _is_priced(each)),
    )


def _play(prepared: PreparedSimulation) -> list[SimulatedEvent]:
    writer = prepared.writer
    configuration = writer.merchant.configuration
    return list(play_through(writer.process, configuration, prepared.part, prepared.start))


def _is_priced(step: SimulatedStep) -> bool:
    return step.text is not None and step.text.cost is not None


def _find_start(work: Work, writer: TrialWriter, played: Played) -> datetime:
    """At this time of day."""
    if played.start_on is None:
        return work.now
    calendar = writer.process.calendar
    time = work.now.astimezone(calendar.zone).time()
    return calendar.to_instant(datetime.combine(played.start_on, time))


async def _cast(
    work: Work, resources: Resources, reader: SampleReader, played: Played, today: date
) -> SimulatedClaim:
    """Of a claim of the merchant's, who was contacted lately and is not written to counts."""
    if played.claim_id is None:
        usable = find_usable_channels(
            work.merchant.configuration.channels,
            email=reader.email, mobile_number=reader.mobile_number, address=reader.address,
        )  # fmt: skip
        return SimulatedClaim(
            reader.claim, replace(reader.step_facts(today), usable_channels=usable)
        )
    claims = await load_claims(work.tx, resources.keys, work.merchant, [played.claim_id])
    if not claims:
        raise NotFound(f"There is no claim {played.claim_id}.")
    person = identify(resources.keys, work.merchant_id, find_person(claims[0]))
    contacted_on = await load_contacted(work.tx, work.merchant_id, person)
    facts = replace(claims[0].step_facts(today), tried=NOTHING_TRIED)
    return SimulatedClaim(reader.claim, facts, person, contacted_on)


async def _write(stage: _Stage, happening: SimulatedEvent) -> SimulatedText | None:
    """None: nothing is written then, or enough is written already."""
    planned = happening.foreseen.outcome
    if happening.foreseen.channel is None or not isinstance(planned, ContactPlanned):
        return None
    if stage.written >= _MOST_WRITTEN or stage.characters >= _MOST_CHARACTERS:
        return None
    stage.written += 1
    template, channel = planned.step.template, planned.channel
    today = stage.writer.process.calendar.local_date(happening.at)
    pay_by = foresee_pay_by(
        stage.writer.process, planned, _find_facts(stage, happening, today), happening.at
    )
    reader = replace(stage.prepared.reader, claim=happening.claim)
    wish = TrialWish(template, channel, today, pay_by)
    try:
        rendered = await run_apart(stage.writer.write, reader, wish)
    except LookupError:
        return SimulatedText(template, refused=NO_TEXT)
    if isinstance(rendered, Permanent):
        return SimulatedText(template, refused=rendered.reason)
    pages = await _count_pages(stage, rendered) if channel == "LETTER" else None
    content = rendered.content
    stage.characters += len(content.body_text)
    return SimulatedText(
        template=template,
        language=content.language,
        subject=content.subject,
        text=content.body_text,
        units=count_parts(content.body_text).count if channel == "SMS" else pages or 1,
        cost=stage.writer.price(rendered, pages),
    )


def _find_facts(stage: _Stage, happening: SimulatedEvent, today: date) -> StepFacts:
    """The claim's as they are then, somebody being reached by this contact."""
    claim, facts = happening.claim, stage.prepared.part.facts
    condition = replace(
        facts.condition,
        today=today,
        outstanding_cents=claim.outstanding_cents,
        total_cents=claim.total_cents,
        item_types=facts.condition.item_types | {item.type for item in claim.items},
    )
    return replace(
        facts, condition=condition, has_reached=True, letter_sent_at=happening.letter_sent_at
    )


async def _count_pages(stage: _Stage, rendered: RenderedContact) -> int | None:
    """None: it cannot be printed, or enough were."""
    printer, sheet = stage.printer, rendered.sheet
    if printer is None or sheet is None or stage.printed >= _MOST_PRINTED:
        return None
    stage.printed += 1
    try:
        return await printer.count_pages(await printer.print_sheet(sheet))
    except Unprintable:
        return None
