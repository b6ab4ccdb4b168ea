"""Report which deliveries an endpoint has not acknowledged, such as "sent 812 to 4,711,
acknowledged all but 3".

An endpoint's deliveries are numbered from 1 in the order of their events. Events that the endpoint
did not subscribe to have no delivery and leave no gap. A delivery is acknowledged once any attempt
was answered with a 2xx, also while it is being replayed. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

# Only this many of the newest deliveries are numbered and counted.
MAX_NUMBERED = 100_000
MAX_GAPS = 100


class GapKind(StrEnum):
    """Why a delivery is not acknowledged."""

    # All attempts failed so far, and the next one is scheduled.
    RETRYING = "RETRYING"
    # Only a replay sends it again.
    GIVEN_UP = "GIVEN_UP"
    # Later deliveries were sent, but this one was not attempted yet.
    UNTRIED = "UNTRIED"


_GAP_DESCRIPTIONS = {
    GapKind.RETRYING: "failed, will be retried",
    GapKind.GIVEN_UP: "given up",
    GapKind.UNTRIED: "not tried yet",
}


def render_event_title(event_type: str, sequence: int | None) -> str:
    """Return the type, and the event's number among those of its claim, if it has one."""
    return event_type if sequence is None else f"{event_type} {sequence}"


@dataclass(frozen=True, slots=True)
class DeliveryGap:
    """A delivery that is not acknowledged, by its number."""

    number: int
    event_id: UUID
    type: str
    claim_id: int
    # The event's sequence within its claim, as in Dunwell-Sequence. None for an additional type.
    sequence: int | None
    state: str
    attempts: int

    @property
    def title(self) -> str:
        return render_event_title(self.type, self.sequence)

    @property
    def kind(self) -> GapKind:
        if self.state == "GIVEN_UP":
            return GapKind.GIVEN_UP
        return GapKind.RETRYING if self.attempts else GapKind.UNTRIED


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Counts of the deliveries from the number `first_number` on. `numbered` is how many deliveries
    have a number, `last_sent` is the highest number that was attempted (0 if there is none), and
    `open` is how many from `first_number` to `last_sent` are not acknowledged."""

    numbered: int
    first_number: int
    last_sent: int
    open: int


@dataclass(frozen=True, slots=True)
class DeliveryGapReport:
    """The deliveries that were sent, from the number `first` to `last` (both 0 if nothing was
    sent), and how many of them are acknowledged or open. `gaps` are the first MAX_GAPS open ones.
    `waiting` is the number of later deliveries that wait for their first attempt."""

    first: int
    last: int
    acknowledged: int
    open: int
    waiting: int
    gaps: Sequence[DeliveryGap]
    # True if there are older deliveries than the numbered ones.
    is_cut: bool

    @property
    def is_complete(self) -> bool:
        """True if everything that was sent is acknowledged."""
        return self.open == 0


def build_gap_report(counts: DeliveryCounts, gaps: Sequence[DeliveryGap]) -> DeliveryGapReport:
    """Build the report. `gaps` are in the order of their numbers."""
    first = max(1, counts.first_number)
    is_cut = counts.numbered >= MAX_NUMBERED
    if counts.last_sent < first:
        waiting = max(0, counts.numbered - first + 1)
        return DeliveryGapReport(
            0, 0, acknowledged=0, open=0, waiting=waiting, gaps=(), is_cut=is_cut
        )
    sent = counts.last_sent - first + 1
    return DeliveryGapReport(
        first=first,
        last=counts.last_sent,
        acknowledged=sent - counts.open,
        open=counts.open,
        waiting=counts.numbered - counts.last_sent,
        gaps=gaps,
        is_cut=is_cut,
    )


def render_gap_report(report: DeliveryGapReport) -> Iterator[str]:
    """Yield the report as lines of text."""
    if not report.last:
        yield "Nothing was sent yet."
    else:
        missing = f"all but {report.open:,}" if report.open else "all"
        yield f"Sent {report.first:,} to {report.last:,}, acknowledged {missing}."
    for gap in report.gaps:
        words = _GAP_DESCRIPTIONS[gap.kind]
        yield f"  {gap.number:,}  {gap.title} of claim {gap.claim_id}: {words}"
    if report.open > len(report.gaps):
        yield f"  and {report.open - len(report.gaps):,} more"
    if report.waiting:
        yield f"{report.waiting:,} more are waiting for their first attempt."
    if report.is_cut:
        yield f"Only the newest {MAX_NUMBERED:,} deliveries are numbered."
