"""How a claim's next contact changes when its process changes: one claim's part of a preview.

A contact is the next one when nobody pays and nobody is kept back for having been contacted too
often; contact hours and quiet hours count. Pure.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.forecast.forecast import Guard, UnderWay, forecast
from dunwell.contact.escalation.process import Process
from dunwell.contact.escalation.schedule import Position, StepFacts, list_channels
from dunwell.contact.messages.placeholders import find_snippets
from dunwell.core.workflows.definition import CommunicationStep, Definition, Texts

# A contact that is farther away is none.
_FARTHEST = timedelta(days=3_650)
_MOST_KNOWN = 1_000


class Kind(StrEnum):
    """What becomes of a claim's next contact; each claim that a draft reaches is of one kind."""

    UNCHANGED = "UNCHANGED"
    CHANGED = "CHANGED"
    GONE = "GONE"
    NEW = "NEW"
    # Held without end: not contacted until somebody lifts the hold.
    HELD = "HELD"
    # Whether its last contact was made has to be settled by a person first.
    UNSETTLED = "UNSETTLED"


class Aspect(StrEnum):
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


class ClaimPreview(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One claim's next contact before and after; both are None for those that are not played."""

    claim_id: int
    reference_number: str
    kind: Kind
    before: NextContact | None = None
    after: NextContact | None = None
    # Of a changed one.
    aspects: tuple[Aspect, ...] = ()


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

    def find(self, standing: Position | UnderWay, facts: StepFacts) -> NextContact | None:
        if self._has_guards or isinstance(standing, UnderWay):
            return self._foresee(standing, facts)
        key = (
            standing.next_step_id,
            standing.due_at,
            facts.usable_channels,
            facts.tried,
            facts.letter_sent_at,
        )
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._foresee(standing, facts)
        return self._known[key]

    def _foresee(self, standing: Position | UnderWay, facts: StepFacts) -> NextContact | None:
        until = self._now + _FARTHEST
        for each in forecast(
            self._process, standing, facts, self._now, until=until, guard=self._quiet
        ):
            if each.channel is not None and each.step is not None:
                return NextContact(each.at, each.channel, each.step.id, each.step.name)
        return None


def compare_contacts(
    before: NextContact | None, after: NextContact | None, changed: ChangedContents
) -> tuple[Kind, tuple[Aspect, ...]]:
    if before is None:
        return (Kind.UNCHANGED if after is None else Kind.NEW), ()
    if after is None:
        return Kind.GONE, ()
    aspects = tuple(_find_aspects(before, after, changed))
    return (Kind.CHANGED if aspects else Kind.UNCHANGED), aspects


def find_changed_contents(before: Definition, after: Definition) -> ChangedContents:
    """Where a step that both have would say or carry something else by a channel."""
    steps_before = {step.id: step for step in before.steps}
    return frozenset(
        (step.id, channel)
        for step in after.steps
        if isinstance(step, CommunicationStep)
        and isinstance(old := steps_before.get(step.id), CommunicationStep)
        for channel in list_channels(step)
        if _content_of(before, old, channel) != _content_of(after, step, channel)
    )


def plays_alike(before: Definition, after: Definition) -> bool:
    """Whether every claim has the same contacts and fees at the same instants under both."""
    return before.settings == after.settings and [*map(_course_of, before.steps)] == [
        *map(_course_of, after.steps)
    ]


def _course_of(step: object) -> object:
    if isinstance(step, CommunicationStep):
        return step.id, step.name, step.when, step.send, list_channels(step)
    return step


def _find_aspects(
    before: NextContact, after: NextContact, changed: ChangedContents
) -> Iterator[Aspect]:
    if before.at != after.at:
        yield Aspect.TIME
    if before.channel != after.channel:
        yield Aspect.CHANNEL
    if before.step_id != after.step_id:
        yield Aspect.STEP
    elif (after.step_id, after.channel) in changed:
        yield Aspect.CONTENT


def _content_of(definition: Definition, step: CommunicationStep, channel: Channel) -> object:
    """All that a message is made of, but for the claim; no template: the step's name of one."""
    template = definition.templates.get(step.template)
    if template is None:
        return step.template
    part = {"EMAIL": template.email, "SMS": template.sms, "LETTER": template.letter}[channel]
    texts: list[Texts] = [getattr(part, name) for name in part.__struct_fields__] if part else []
    used = {name for text in texts for each in text.values() for name in find_snippets(each)}
    snippets = {name: definition.snippets.get(name) for name in used}
    return part, snippets, step.attachments
