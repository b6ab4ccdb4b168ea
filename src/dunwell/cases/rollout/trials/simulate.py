"""Simulate a workflow on one claim, as if it started on a given day: the dates with their reasons,
channels, fees, rendered texts and costs.

Nothing is sent or stored. The facts are loaded in a transaction, which ends before anything is
rendered.
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
from dunwell.cases.rollout.preview.preview_message import get_recipient
from dunwell.cases.rollout.preview.sample_contact import SampleCase, SampleRecipient
from dunwell.cases.rollout.trials.simulated_events import (
    DayReason,
    SimulatedClaim,
    SimulatedEvent,
    simulate_events,
)
from dunwell.cases.rollout.trials.trial_messages import (
    TrialMessage,
    TrialWriter,
    prepare_trial_writer,
)
from dunwell.contact.escalation.contacts.render_leased import compute_pay_by
from dunwell.contact.escalation.due_claim import list_usable_channels
from dunwell.contact.escalation.forecast.running_claim import build_debtor_person
from dunwell.contact.escalation.schedule import NOTHING_TRIED, ContactPlanned, StepFacts
from dunwell.contact.escalation.store import load_claims
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.guards.store import load_contact_days
from dunwell.contact.messages.identities import list_identities
from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.core.workflows.definition import Definition
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

# The template has no text for the channel.
NO_TEXT = "NO_TEXT"
# How many letters are printed to count their pages. Further letters get no price.
_MAX_PRINTED = 20
# The most messages, and their most characters in total, that a page can show. Further messages of a
# workflow are shown without their texts.
_MAX_WRITTEN = 200
_MAX_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class SimulationScope:
    """The claim and the day on which it starts. Without `claim_id`, a sample claim is used; without
    `start_on`, today."""

    claim_id: int | None = None
    case: SampleCase = "USUAL"
    start_on: date | None = None


@dataclass(frozen=True, slots=True)
class SimulatedText:
    """A rendered message, or in `refused` why there is none. `units` counts the SMS parts or the
    letter's pages. `cost` is in cents of the merchant's currency, or None if it is unknown."""

    template: str
    language: str = ""
    subject: str | None = None
    text: str = ""
    units: int = 1
    cost: Decimal | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    event: SimulatedEvent
    text: SimulatedText | None

    @property
    def kind(self) -> str:
        """The name of the event's outcome."""
        return type(self.event.foreseen.outcome).__name__

    @property
    def channel(self) -> Channel | None:
        return self.event.foreseen.channel

    @property
    def outcome(self) -> Any:
        return self.event.foreseen.outcome

    @property
    def reasons(self) -> Sequence[DayReason]:
        return self.event.reasons


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result. `cost` covers the messages with a known price, and `unpriced` counts the others
    by channel. Amounts are in cents: fees in `currency`, costs in the merchant's currency."""

    recipient: SampleRecipient
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
        return self.steps[-1].event.at if self.steps else self.start


@dataclass(frozen=True, slots=True)
class PreparedSimulation:
    """Everything that the simulation needs, so that no transaction is needed."""

    writer: TrialWriter
    recipient: SampleRecipient
    simulated: SimulatedClaim
    start: datetime


@dataclass(slots=True)
class _SimulationRun:
    prepared: PreparedSimulation
    printer: LetterPrinter | None
    written: int = 0
    characters: int = 0
    printed: int = 0

    @property
    def writer(self) -> TrialWriter:
        return self.prepared.writer


async def prepare_simulation(
    work: Work, resources: Resources, definition: Definition, scope: SimulationScope
) -> PreparedSimulation:
    """Load the facts. Raises NotFound (claim) and MerchantNotConfigured."""
    work.require(Right.CONFIGURE)
    writer = await prepare_trial_writer(work, resources, definition)
    start = _compute_start(work, writer, scope)
    today = writer.workflow.calendar.local_date(start)
    recipient = await get_recipient(work, definition, scope.claim_id, scope.case, today=today)
    simulated = await _load_simulated_claim(
        work, resources, recipient=recipient, scope=scope, today=today
    )
    return PreparedSimulation(writer, recipient, simulated, start)


async def simulate(prepared: PreparedSimulation, *, printer: LetterPrinter | None) -> Simulation:
    """Simulate, outside any transaction. Without a printer, letters have no price."""
    recipient = prepared.recipient
    events = await run_in_thread(_list_events, prepared)
    run = _SimulationRun(prepared, printer)
    steps = [SimulatedStep(each, await _write(run, each)) for each in events]
    return Simulation(
        recipient=recipient,
        start=prepared.start,
        timezone=str(prepared.writer.workflow.calendar.zone),
        currency=recipient.claim.currency,
        steps=steps,
        contacts=Counter(each.channel for each in steps if each.channel),
        fees_cents=(events[-1].claim.fees_cents if events else recipient.claim.fees_cents)
        - recipient.claim.fees_cents,
        cost=sum((each.text.cost for each in steps if each.text and each.text.cost), Decimal(0)),
        unpriced=Counter(each.channel for each in steps if each.channel and not _is_priced(each)),
    )


def _list_events(prepared: PreparedSimulation) -> list[SimulatedEvent]:
    writer = prepared.writer
    configuration = writer.merchant.configuration
    return list(simulate_events(writer.workflow, configuration, prepared.simulated, prepared.start))


def _is_priced(step: SimulatedStep) -> bool:
    return step.text is not None and step.text.cost is not None


def _compute_start(work: Work, writer: TrialWriter, scope: SimulationScope) -> datetime:
    """Return the start of the simulation: the scope's day at the present time of day."""
    if scope.start_on is None:
        return work.now
    calendar = writer.workflow.calendar
    time = work.now.astimezone(calendar.zone).time()
    return calendar.to_instant(datetime.combine(scope.start_on, time))


async def _load_simulated_claim(
    work: Work,
    resources: Resources,
    recipient: SampleRecipient,
    scope: SimulationScope,
    today: date,
) -> SimulatedClaim:
    """Load the claim to simulate. For a real claim, earlier contacts with its debtor count towards
    the contact limits."""
    if scope.claim_id is None:
        usable = list_usable_channels(
            work.merchant.configuration.channels,
            email=recipient.email, mobile_number=recipient.mobile_number, address=recipient.address,
        )  # fmt: skip
        return SimulatedClaim(
            recipient.claim, replace(recipient.step_facts(today), usable_channels=usable)
        )
    claims = await load_claims(work.tx, resources.keys, work.merchant, [scope.claim_id])
    if not claims:
        raise NotFound(f"There is no claim {scope.claim_id}.")
    person = list_identities(resources.keys, work.merchant_id, build_debtor_person(claims[0]))
    contacted_on = await load_contact_days(work.tx, work.merchant_id, person)
    facts = replace(claims[0].step_facts(today), tried=NOTHING_TRIED)
    return SimulatedClaim(recipient.claim, facts, person, contacted_on)


async def _write(run: _SimulationRun, event: SimulatedEvent) -> SimulatedText | None:
    """Render the message of the event. Return None if the event has no message or the limit is
    reached."""
    planned = event.foreseen.outcome
    if event.foreseen.channel is None or not isinstance(planned, ContactPlanned):
        return None
    if run.written >= _MAX_WRITTEN or run.characters >= _MAX_CHARACTERS:
        return None
    run.written += 1
    template, channel = planned.step.template, planned.channel
    today = run.writer.workflow.calendar.local_date(event.at)
    pay_by = compute_pay_by(run.writer.workflow, planned, _build_facts(run, event, today), event.at)
    recipient = replace(run.prepared.recipient, claim=event.claim)
    message = TrialMessage(template, channel, today, pay_by)
    try:
        rendered = await run_in_thread(run.writer.write, recipient, message)
    except LookupError:
        return SimulatedText(template, refused=NO_TEXT)
    if isinstance(rendered, Permanent):
        return SimulatedText(template, refused=rendered.reason)
    pages = await _count_pages(run, rendered) if channel == "LETTER" else None
    content = rendered.content
    run.characters += len(content.body_text)
    return SimulatedText(
        template=template,
        language=content.language,
        subject=content.subject,
        text=content.body_text,
        units=count_parts(content.body_text).count if channel == "SMS" else pages or 1,
        cost=run.writer.price(rendered, pages),
    )


def _build_facts(run: _SimulationRun, event: SimulatedEvent, today: date) -> StepFacts:
    """Return the claim's facts at the time of the event, as if this contact reaches the debtor."""
    claim, facts = event.claim, run.prepared.simulated.facts
    condition = replace(
        facts.condition,
        today=today,
        outstanding_cents=claim.outstanding_cents,
        total_cents=claim.total_cents,
        item_types=facts.condition.item_types | {item.type for item in claim.items},
    )
    return replace(
        facts, condition=condition, has_reached=True, letter_sent_at=event.letter_sent_at
    )


async def _count_pages(run: _SimulationRun, rendered: RenderedContact) -> int | None:
    """Return the number of pages, or None if the letter cannot be printed or the limit is
    reached.
    """
    printer, sheet = run.printer, rendered.sheet
    if printer is None or sheet is None or run.printed >= _MAX_PRINTED:
        return None
    run.printed += 1
    try:
        return await printer.count_pages(await printer.print_sheet(sheet))
    except Unprintable:
        return None
