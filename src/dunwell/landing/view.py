"""What a claim's state means for its page: what is said, what can be done. Pure."""

from datetime import date, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from dunwell.claims.holds import HoldKind
from dunwell.claims.states import Status
from dunwell.landing.facts import ClaimFacts, HoldFacts
from dunwell.payments.request_states import RequestState

_LONGEST_INITIALS = 3


class PageState(StrEnum):
    OPEN = "OPEN"
    # Money is under way.
    PENDING = "PENDING"
    # Stopped by a hold; it can be paid all the same.
    HELD = "HELD"
    PAID = "PAID"
    # Archived or withdrawn: no amounts, the creditor's contact.
    CLOSED = "CLOSED"


class Outcome(StrEnum):
    """What became of a payment, as the page somebody comes back to tells it."""

    RECEIVED = "RECEIVED"
    PENDING = "PENDING"
    # The provider has heard of no decision: nothing is known to be taken.
    LEFT = "LEFT"
    ENDED = "ENDED"


_CLOSED = (Status.ARCHIVED, Status.WITHDRAWN)
_OUTCOMES = {
    RequestState.COMPLETED: Outcome.RECEIVED,
    RequestState.PENDING: Outcome.PENDING,
    RequestState.CREATED: Outcome.LEFT,
    RequestState.OPEN: Outcome.LEFT,
}


def decide_state(facts: ClaimFacts, now: datetime) -> PageState:
    """`now`: the merchant's time, which rules its holds."""
    if facts.status in _CLOSED:
        return PageState.CLOSED
    if facts.status is Status.COLLECTED or facts.outstanding_cents == 0:
        return PageState.PAID
    standing = list_standing(facts, now)
    if is_awaited(facts) or any(hold.kind is HoldKind.PAYMENT_PENDING for hold in standing):
        return PageState.PENDING
    return PageState.HELD if standing else PageState.OPEN


def is_payable(state: PageState) -> bool:
    return state in (PageState.OPEN, PageState.HELD)


def is_awaited(facts: ClaimFacts) -> bool:
    """Whether the newest payment request waits for its money."""
    return facts.request is not None and facts.request.state == RequestState.PENDING


def list_standing(facts: ClaimFacts, now: datetime) -> list[HoldFacts]:
    return [hold for hold in facts.holds if hold.until is None or now < hold.until]


def find_held_until(facts: ClaimFacts, now: datetime) -> datetime | None:
    """When the last hold falls; None when that is not known."""
    ends = [hold.until for hold in list_standing(facts, now)]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def decide_outcome(state: RequestState) -> Outcome:
    return _OUTCOMES.get(state, Outcome.ENDED)


def render_initials(facts: ClaimFacts) -> str:
    """Whom the claim is for, as much as a link alone may tell: "E. M."."""
    words = [word.strip() for word in (facts.first_name, facts.last_name) if word]
    if not words:
        words = (facts.company_name or "").split()[:_LONGEST_INITIALS]
    letters = [word[:1].upper() for word in words]
    return "\N{NO-BREAK SPACE}".join(f"{letter}." for letter in letters if letter.isalnum())


def find_day(instant: date | datetime, timezone: str) -> date:
    """The day of an instant where the merchant is."""
    if isinstance(instant, datetime):
        return instant.astimezone(ZoneInfo(timezone)).date()
    return instant
