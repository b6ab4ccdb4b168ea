"""Whether an endpoint has acknowledged all that was sent to it: "sent 812 to 4,711, acknowledged
all but 3".

An endpoint's deliveries are numbered by the order of their events, from 1. What it has not asked
for has no delivery, so a filtered endpoint's numbers have no gaps of their own. A delivery is
acknowledged once any try of it was answered with a 2xx, also while it is sent once more. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

# So many of the newest deliveries are numbered; what is older is not counted.
MOST_NUMBERED = 100_000
MOST_GAPS = 100


class GapKind(StrEnum):
    """Why a delivery is not acknowledged."""

    # Tried without success, and tried again by the schedule.
    RETRYING = "RETRYING"
    # Only a replay sends it again.
    GIVEN_UP = "GIVEN_UP"
    # Later ones were sent, this one was not tried yet.
    UNTRIED = "UNTRIED"


_WORDS = {
    GapKind.RETRYING: "tried in vain, and tried again",
    GapKind.GIVEN_UP: "given up",
    GapKind.UNTRIED: "not tried yet",
}


@dataclass(frozen=True, slots=True)
class DeliveryGap:
    """A delivery that was not acknowledged, by its number."""

    number: int
    event_id: UUID
    type: str
    claim_id: int
    # The event's place within its claim, as Dunwell-Sequence says it.
    sequence: int
    state: str
    attempts: int

    @property
    def kind(self) -> GapKind:
        if self.state == "GIVEN_UP":
            return GapKind.GIVEN_UP
        return GapKind.RETRYING if self.attempts else GapKind.UNTRIED


@dataclass(frozen=True, slots=True)
class Counted:
    """Of the numbered deliveries from `asked_from` on. last_sent: the highest number that was
    tried, 0: none was. open: not acknowledged, up to it."""

    numbered: int
    asked_from: int
    last_sent: int
    open: int


@dataclass(frozen=True, slots=True)
class Proof:
    """first, last: the numbers of what was sent; both 0 where nothing was. gaps: the first
    MOST_GAPS of `open`. behind: what waits for its first try behind the last that was sent."""

    first: int
    last: int
    acknowledged: int
    open: int
    behind: int
    gaps: Sequence[DeliveryGap]
    # There are older deliveries than those that were numbered.
    is_cut: bool

    @property
    def is_complete(self) -> bool:
        """All that was sent is acknowledged."""
        return self.open == 0


def prove(counted: Counted, gaps: Sequence[DeliveryGap]) -> Proof:
    """gaps: in the order of their numbers."""
    first = max(1, counted.asked_from)
    is_cut = counted.numbered >= MOST_NUMBERED
    if counted.last_sent < first:
        behind = max(0, counted.numbered - first + 1)
        return Proof(0, 0, acknowledged=0, open=0, behind=behind, gaps=(), is_cut=is_cut)
    sent = counted.last_sent - first + 1
    return Proof(
        first=first,
        last=counted.last_sent,
        acknowledged=sent - counted.open,
        open=counted.open,
        behind=counted.numbered - counted.last_sent,
        gaps=gaps,
        is_cut=is_cut,
    )


def list_proof_lines(proof: Proof) -> Iterator[str]:
    """In words, a line each."""
    if not proof.last:
        yield "Nothing was sent yet."
    else:
        missing = f"all but {proof.open:,}" if proof.open else "all"
        yield f"Sent {proof.first:,} to {proof.last:,}, acknowledged {missing}."
    for gap in proof.gaps:
        words = _WORDS[gap.kind]
        yield f"  {gap.number:,}  {gap.type} {gap.sequence} of claim {gap.claim_id}: {words}"
    if proof.open > len(proof.gaps):
        yield f"  and {proof.open - len(proof.gaps):,} more"
    if proof.behind:
        yield f"{proof.behind:,} more wait for their first try."
    if proof.is_cut:
        yield f"Numbered are the newest {MOST_NUMBERED:,}."
