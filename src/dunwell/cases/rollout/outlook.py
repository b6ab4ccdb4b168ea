"""What a process would do over a window of days, added up claim by claim.

Whatever the number of claims, an outlook stays small: it counts by day, channel and sum, and keeps
a few examples. Pure.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.forecast.forecast import Foreseen
from dunwell.contact.escalation.schedule import Archived, FeeAdded, NobodyReachable
from dunwell.contact.messages.guards.guards import HeldBy
from dunwell.contact.sending.report import UNKNOWN_COUNTRY

# The examples kept: the highest fees, the first claims nobody can reach.
EXAMPLES = 10


# A step, the channel it contacts by, and the country that goes to.
SentTo = tuple[int, Channel, str]


class DebtorFees(msgspec.Struct, frozen=True, gc=False, order=True, rename="camel"):
    """The fees of one debtor, and one of the claims they are added to."""

    cents: int
    fees: int
    claims: int
    reference_number: str


@dataclass(slots=True)
class Outlook:
    """Days are the merchant's."""

    since: datetime
    until: datetime
    claims: int = 0
    persons: int = 0
    contacts: Counter[tuple[date, Channel]] = field(default_factory=Counter)
    # Contacts kept back, on the day that happens; one may be kept back more than once.
    held_back: Counter[tuple[date, HeldBy]] = field(default_factory=Counter)
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
    sent: Counter[SentTo] = field(default_factory=Counter)

    def add_claim(self, reference_number: str, *, is_reachable: bool) -> None:
        self.claims += 1
        if is_reachable:
            return
        self.unreachable += 1
        if len(self.unreachable_examples) < EXAMPLES:
            self.unreachable_examples.append(reference_number)

    def add_foreseen(
        self, foreseen: Iterable[Foreseen], day: date, countries: Mapping[Channel, str]
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
        if len(self.highest_fees) < EXAMPLES:
            heapq.heappush(self.highest_fees, fees)
        else:
            heapq.heappushpop(self.highest_fees, fees)

    def add_hold(self, day: date, held_by: HeldBy) -> None:
        self.held_back[day, held_by] += 1
