"""One claim played through a process from its beginning to its end, by the engine's own rule: what
happens when, why on that day, and what is owed then. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.cases.rollout.trials.day_reasons import (
    DayReason,
    explain_guard,
    explain_put_off,
    explain_wait,
)
from dunwell.contact.escalation.forecast.forecast import Course, Foreseen
from dunwell.contact.escalation.forecast.person_guard import PersonGuard, find_quiet_hours
from dunwell.contact.escalation.process import Process
from dunwell.contact.escalation.schedule import (
    FeeAdded,
    Position,
    StepFacts,
    WaitBegun,
    find_start_of_wait,
)
from dunwell.contact.messages.facts import ClaimFacts, ItemFacts
from dunwell.contact.messages.guards.guards import Days, HeldBy
from dunwell.core.workflows.definition import CommunicationStep

# A process that has not ended by then is shown as far.
_FARTHEST = timedelta(days=3_650)
# Whom a made-up claim is about: known by nothing else.
_NOBODY = (b"nobody",)


@dataclass(frozen=True, slots=True)
class Part:
    """What is played: the claim as it begins, and whom it is about. `contacted_on`: on which days
    these identities were contacted before."""

    claim: ClaimFacts
    facts: StepFacts
    identities: tuple[bytes, ...] = _NOBODY
    contacted_on: Mapping[bytes, Days] | None = None


@dataclass(frozen=True, slots=True)
class Happening:
    """`claim`: as it stands then, a fee that is added now included. `letter_sent_at`: when the last
    letter before it was handed over."""

    foreseen: Foreseen
    reasons: Sequence[DayReason]
    claim: ClaimFacts
    letter_sent_at: datetime | None

    @property
    def at(self) -> datetime:
        return self.foreseen.at


def play_through(
    process: Process, configuration: Configuration, part: Part, start: datetime
) -> Iterator[Happening]:
    """From `start` to the archiving: nobody pays, and each contact is accepted at once."""
    held: list[DayReason] = []

    def note(day: date, held_by: HeldBy) -> None:
        held.append(explain_guard(held_by, day))

    known = part.contacted_on or {}
    guard = PersonGuard(
        guards=configuration.guards, quiet=find_quiet_hours(configuration),
        identities=part.identities,
        days={each: list(known.get(each, ())) for each in part.identities}, note=note,
    )  # fmt: skip
    facts = replace(part.facts, has_reached=False, letter_sent_at=None)
    course = Course(process, Position(process.id_at(0), start), facts=facts, now=start, guard=guard)
    claim, due_at = part.claim, start
    while (at := course.next_at) is not None and at <= start + _FARTHEST:
        for foreseen in course.advance():
            claim = _add_fee(claim, foreseen, process.calendar.local_date(at))
            reasons = [*_explain(process, foreseen, facts=facts, due_at=due_at), *held]
            yield Happening(foreseen, reasons, claim, facts.letter_sent_at)
            held.clear()
            if foreseen.channel == "LETTER":
                facts = replace(facts, letter_sent_at=at)
            outcome = foreseen.outcome
            due_at = outcome.until if isinstance(outcome, WaitBegun) else at


def _explain(
    process: Process, foreseen: Foreseen, facts: StepFacts, due_at: datetime
) -> Iterator[DayReason]:
    step, outcome = foreseen.step, foreseen.outcome
    if isinstance(outcome, WaitBegun):
        since = find_start_of_wait(process, facts, due_at)
        if since > due_at:
            yield DayReason("LETTER_ON_ITS_WAY", process.calendar.local_date(since))
        yield from explain_wait(process.calendar, outcome.step, since)
    elif isinstance(step, CommunicationStep) and step.send == "CONTACT_HOURS":
        yield from explain_put_off(process.calendar, due_at, foreseen.at)


def _add_fee(claim: ClaimFacts, foreseen: Foreseen, day: date) -> ClaimFacts:
    if not isinstance(foreseen.outcome, FeeAdded):
        return claim
    fee = foreseen.outcome.step
    cents = int(fee.value)
    return replace(
        claim,
        items=(*claim.items, ItemFacts(fee.type, cents, item_date=day)),
        total_cents=claim.total_cents + cents,
        outstanding_cents=claim.outstanding_cents + cents,
        fees_cents=claim.fees_cents + cents,
    )
