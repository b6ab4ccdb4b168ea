"""What is asked of a preview, and what it adds up about next contacts. Pure."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from dunwell.cases.rollout.next_contacts import Aspect, ClaimPreview, Kind
from dunwell.cases.rollout.outlook import Outlook
from dunwell.platform.errors import Fault, ValidationError

MOST_DAYS = 365
DEFAULT_DAYS = 30

# Claims done, and all.
Progress = Callable[[int, int], None]
Sink = Callable[[ClaimPreview], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a preview. 0 days: next contacts alone, nothing is played forward."""

    days: int = DEFAULT_DAYS
    # Claims kept in `listed`; those whose next contact does not differ are not among them.
    listed: int = 20
    progress: Progress | None = None
    # Is given every claim that is reached, in the order of persons.
    sink: Sink | None = None
    # Whether what messages cost is foreseen too: the process as it stands is played beside the
    # change.
    costs: bool = False

    def check(self) -> None:
        """Raises ValidationError."""
        if not 0 <= self.days <= MOST_DAYS:
            message = f"Give a number of days from 0 to {MOST_DAYS}."
            raise ValidationError([Fault("/days", message, "OUT_OF_RANGE")])


@dataclass(slots=True)
class Effects:
    """What a change does to the claims it reaches."""

    claims: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    # Of the changed ones; one may differ in several.
    aspects: Counter[Aspect] = field(default_factory=Counter)
    listed: list[ClaimPreview] = field(default_factory=list)
    outlook: Outlook | None = None
    # Of the process as it stands; none unless costs were asked for.
    outlook_before: Outlook | None = None

    def add(self, claim: ClaimPreview, asked: Asked) -> None:
        self.claims += 1
        self.counts[claim.kind] += 1
        self.aspects.update(claim.aspects)
        if claim.kind in _LISTED and len(self.listed) < asked.listed:
            self.listed.append(claim)
        if asked.sink is not None:
            asked.sink(claim)


_LISTED = frozenset({Kind.CHANGED, Kind.GONE, Kind.NEW})
