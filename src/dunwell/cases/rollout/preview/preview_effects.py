"""What a changed definition would do to running claims: the claims of a person are played forward
side by side, so that guards see their contacts in the order of time.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel, Configuration
from dunwell.accounts.merchants.configuration import find_country as find_home
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import (
    ChangedContents,
    ClaimContactChange,
    ContactChangeKind,
    DebtorFees,
    Effects,
    NextContacts,
    Outlook,
    PreviewScope,
    compare_contacts,
    find_changed_contents,
    plays_alike,
)
from dunwell.cases.rollout.store import iterate_persons
from dunwell.contact.escalation.due_claim import find_position
from dunwell.contact.escalation.forecast.forecast import Course, Guard, UnderWay
from dunwell.contact.escalation.forecast.person_guard import (
    PersonGuard,
    QuietHours,
    find_quiet_hours,
)
from dunwell.contact.escalation.forecast.running_claim import (
    RunningClaim,
    find_person,
    find_standing,
)
from dunwell.contact.escalation.process import Process, build_process
from dunwell.contact.escalation.schedule import StepFacts, WorkflowPosition, list_channels
from dunwell.contact.messages.guards.guards import Days
from dunwell.contact.messages.guards.store import load_contacted
from dunwell.contact.messages.identities import identify
from dunwell.contact.sending.report import UNKNOWN_COUNTRY, find_country
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.crypto import KeyRing


@dataclass(frozen=True, slots=True)
class Player:
    """One claim to be played: where it stands under the process, and whom it reaches."""

    reference_number: str
    standing: WorkflowPosition | UnderWay
    facts: StepFacts
    identities: tuple[bytes, ...]
    # Where its contacts go; empty where nothing is priced.
    countries: Mapping[Channel, str] = field(default_factory=dict)


def make_quiet_guard(configuration: Configuration) -> Guard:
    """Holds back what falls into quiet hours, and nothing else."""
    by_channel = find_quiet_hours(configuration)

    def allow(at: datetime, channel: Channel) -> datetime:
        return by_channel[channel].first_moment(at)

    return allow


@dataclass(slots=True)
class Stage:
    """What all persons of a preview are played with."""

    process: Process
    configuration: Configuration
    now: datetime
    until: datetime
    outlook: Outlook
    _hours: QuietHours = field(init=False)

    def __post_init__(self) -> None:
        self._hours = find_quiet_hours(self.configuration)

    def play_person(self, players: Sequence[Player], contacted_on: Mapping[bytes, Days]) -> None:
        """`contacted_on`: the days on which the persons' identities were contacted before."""
        days = {i: list(contacted_on.get(i, ())) for each in players for i in each.identities}
        courses = [self._begin(each, days) for each in players]
        zone = self._hours["LETTER"].calendar
        # The place keeps the order of claims at one instant.
        waiting = [
            (at, place) for place, each in enumerate(courses) if (at := each.next_at) is not None
        ]
        heapq.heapify(waiting)
        fees: list[int] = []
        charged: dict[int, str] = {}
        while waiting and waiting[0][0] <= self.until:
            at, place = waiting[0]
            foreseen = courses[place].advance()
            if foreseen:
                day, countries = zone.local_date(at), players[place].countries
                added = self.outlook.add_foreseen(foreseen, day, countries)
                if added:
                    fees += added
                    charged[place] = players[place].reference_number
            following = courses[place].next_at
            if following is None:
                heapq.heappop(waiting)
            else:
                heapq.heapreplace(waiting, (following, place))
        example = min(charged.values(), default="")
        self.outlook.add_debtor(DebtorFees(sum(fees), len(fees), len(charged), example))

    def _begin(self, player: Player, days: dict[bytes, list[date]]) -> Course:
        guard = PersonGuard(
            guards=self.configuration.guards,
            quiet=self._hours,
            identities=player.identities,
            days=days,
            note=self.outlook.add_hold,
        )
        return Course(
            process=self.process,
            standing=player.standing,
            facts=player.facts,
            now=self.now,
            guard=guard,
        )


@dataclass(frozen=True, slots=True)
class MinorChange:
    """A definition that would be the next minor of a version, and the claims that reaches."""

    current: Version
    wanted: Definition
    claims: int


async def preview_effects(
    work: Work, keys: KeyRing, change: MinorChange, asked: PreviewScope
) -> Effects:
    """Open it in `database.snapshot`, so that all claims are seen at one instant.

    Raises ValidationError (days out of range).
    """
    work.need(Right.CONFIGURE)
    asked.check()
    current = change.current
    table = _make_table(work, current, change.wanted, asked)
    process_key: tuple[UUID, int] = (current.workflow_id, current.major)
    effects = Effects()
    if asked.days:
        effects.outlook = table.stage.outlook
        effects.outlook_before = table.find_outlook_before() if asked.costs else None
    async for claims in iterate_persons(work.tx, keys, work.merchant, process_key):
        for claim in claims:
            effects.add(table.compare(claim), asked)
        if asked.days:
            await _play(work, keys, table, claims)
        if asked.progress is not None:
            asked.progress(effects.claims, change.claims)
    return effects


@dataclass(frozen=True, slots=True)
class _Table:
    """The two processes side by side."""

    before: Process
    after: Process
    is_alike: bool
    changed: ChangedContents
    # For each place of the steps: the channels that contacts from there on may take.
    channels_from: Sequence[frozenset[Channel]]
    contacts_before: NextContacts
    contacts_after: NextContacts
    stage: Stage
    # The version they run on, played too; none: the courses are alike, or nobody asked.
    stage_before: Stage | None
    # In the process's zone.
    today: date
    # Where letters without a country go; none: it is not asked.
    home: str | None

    def find_outlook_before(self) -> Outlook:
        return (self.stage_before or self.stage).outlook

    def compare(self, claim: RunningClaim) -> ClaimContactChange:
        facts, now = claim.facts, self.stage.now
        if claim.is_held_without_end or claim.is_unsettled:
            kind = (
                ContactChangeKind.HELD if claim.is_held_without_end else ContactChangeKind.UNSETTLED
            )
            return ClaimContactChange(facts.claim_id, facts.reference_number, kind)
        asked = facts.step_facts(self.today)
        after = self.contacts_after.find(find_standing(self.after, claim, now), asked)
        before = after
        if not self.is_alike:
            before = self.contacts_before.find(find_standing(self.before, claim, now), asked)
        kind, aspects = compare_contacts(before, after, self.changed)
        return ClaimContactChange(
            facts.claim_id, facts.reference_number, kind,
            before=before, after=after, aspects=aspects,
        )  # fmt: skip


def _make_table(work: Work, current: Version, wanted: Definition, asked: PreviewScope) -> _Table:
    configuration = work.merchant.configuration
    before, after = (build_process(each, configuration) for each in (current.definition, wanted))
    until = work.now + timedelta(days=asked.days)
    quiet = make_quiet_guard(configuration)
    is_alike = plays_alike(current.definition, wanted)

    def make_stage(process: Process) -> Stage:
        return Stage(
            process=process,
            configuration=configuration,
            now=work.now,
            until=until,
            outlook=Outlook(work.now, until),
        )

    return _Table(
        before=before,
        after=after,
        is_alike=is_alike,
        changed=find_changed_contents(current.definition, wanted),
        channels_from=list(_list_channels_from(after)),
        contacts_before=NextContacts(before, work.now, quiet),
        contacts_after=NextContacts(after, work.now, quiet),
        stage=make_stage(after),
        stage_before=make_stage(before) if asked.costs and not is_alike else None,
        today=after.calendar.local_date(work.now),
        home=(find_home(configuration) or UNKNOWN_COUNTRY) if asked.costs else None,
    )


def _list_channels_from(process: Process) -> Iterator[frozenset[Channel]]:
    """One more than there are steps: none stands behind the last."""
    for place in range(len(process.steps) + 1):
        contacts = [s for s in process.steps[place:] if isinstance(s, ContactStep)]
        yield frozenset(channel for step in contacts for channel in list_channels(step))


async def _play(work: Work, keys: KeyRing, table: _Table, claims: Sequence[RunningClaim]) -> None:
    """The claims of whole persons, after those who were contacted lately are known."""
    persons = [
        [each for each in of_person if not (each.is_held_without_end or each.is_unsettled)]
        for _, of_person in groupby(claims, attrgetter("person"))
    ]
    after = [[_make_player(work, keys, table, each) for each in playing] for playing in persons]
    identities = {i for players in after for each in players for i in each.identities}
    contacted_on = await load_contacted(work.tx, work.merchant_id, list(identities))
    for playing, players in zip(persons, after, strict=True):
        if not players:
            continue
        table.stage.play_person(players, contacted_on)
        if table.stage_before is not None:
            before = [
                replace(player, standing=find_standing(table.before, claim, work.now))
                for claim, player in zip(playing, players, strict=True)
            ]
            table.stage_before.play_person(before, contacted_on)


def _make_player(work: Work, keys: KeyRing, table: _Table, claim: RunningClaim) -> Player:
    facts = claim.facts
    position = find_position(table.after, facts)
    possible = table.channels_from[table.after.index_of(position.next_step_id)]
    table.stage.outlook.add_claim(
        facts.reference_number,
        is_reachable=not possible or bool(possible & facts.usable_channels),
    )
    return Player(
        facts.reference_number,
        find_standing(table.after, claim, work.now),
        facts=facts.step_facts(table.today),
        identities=identify(keys, work.merchant_id, find_person(facts)),
        countries=_find_countries(claim, table.home) if table.home is not None else {},
    )


def _find_countries(claim: RunningClaim, home: str) -> dict[Channel, str]:
    """Where an SMS and a letter to the debtor go."""
    facts = claim.facts
    return {
        "SMS": find_country(facts.mobile_number or ""),
        "LETTER": facts.address.get("country") or home,
    }
