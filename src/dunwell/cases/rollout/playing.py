"""The claims of one person played forward side by side, so that guards see their contacts in the
order of time. Pure.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from dunwell.accounts.merchants.configuration import Channel, Configuration
from dunwell.cases.rollout.outlook import DebtorFees, Outlook
from dunwell.contact.escalation.forecast.forecast import Course, Guard, UnderWay
from dunwell.contact.escalation.forecast.person_guard import (
    PersonGuard,
    QuietHours,
    find_quiet_hours,
)
from dunwell.contact.escalation.process import Process
from dunwell.contact.escalation.schedule import Position, StepFacts
from dunwell.contact.messages.guards.guards import Days


@dataclass(frozen=True, slots=True)
class Player:
    """One claim to be played: where it stands under the process, and whom it reaches."""

    reference_number: str
    standing: Position | UnderWay
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
