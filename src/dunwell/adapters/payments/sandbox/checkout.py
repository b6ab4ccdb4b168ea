"""What the sandbox provider keeps of a checkout, and what its page can make of it. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

_REFERENCE = re.compile(r"sbx_([1-9][0-9]{0,9})_([0-9a-f]{32})", re.ASCII)
_GREATEST_INTEGER = 2**31 - 1
LIVES_FOR = timedelta(hours=24)
LATE = timedelta(seconds=30)


class State(StrEnum):
    OPEN = "OPEN"
    PENDING = "PENDING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class CheckoutDecision(StrEnum):
    """The page's buttons."""

    PAY = "pay"
    FAIL = "fail"
    CANCEL = "cancel"
    LEAVE_PENDING = "pending"


class Notices(StrEnum):
    """How the notice comes."""

    AT_ONCE = "once"
    LATE = "late"
    TWICE = "twice"
    NEVER = "never"


TRANSITIONS: dict[tuple[State, CheckoutDecision], State] = {
    (State.OPEN, CheckoutDecision.PAY): State.SUCCEEDED,
    (State.OPEN, CheckoutDecision.FAIL): State.FAILED,
    (State.OPEN, CheckoutDecision.CANCEL): State.CANCELLED,
    (State.OPEN, CheckoutDecision.LEAVE_PENDING): State.PENDING,
    (State.PENDING, CheckoutDecision.PAY): State.SUCCEEDED,
    (State.PENDING, CheckoutDecision.FAIL): State.FAILED,
}


@dataclass(frozen=True, slots=True)
class SandboxCheckout:
    merchant_id: int
    checkout_id: UUID
    amount_cents: int
    currency: str
    reference: str
    description: str
    return_url: str
    state: State
    transaction_id: str | None
    # Real time, both.
    created_at: datetime
    decided_at: datetime | None

    def find_decisions(self, now: datetime) -> list[CheckoutDecision]:
        """The buttons that do something; none once the checkout is over."""
        if self.is_expired(now):
            return []
        return [decision for state, decision in TRANSITIONS if state is self.state]

    def is_expired(self, now: datetime) -> bool:
        return self.state is State.OPEN and now >= self.created_at + LIVES_FOR


def plan_notices(notices: Notices, now: datetime) -> tuple[int, datetime | None]:
    """How many are to be sent, and when the first."""
    if notices is Notices.NEVER:
        return 0, None
    count = 2 if notices is Notices.TWICE else 1
    return count, now + LATE if notices is Notices.LATE else now


def render_reference(merchant_id: int, checkout_id: UUID) -> str:
    """The checkout's id outside; it names the merchant, so that no read goes without one."""
    return f"sbx_{merchant_id}_{checkout_id.hex}"


def read_reference(text: str) -> tuple[int, UUID] | None:
    """Merchant and checkout; None: it is no checkout of ours."""
    found = _REFERENCE.fullmatch(text)
    if found is None or int(found[1]) > _GREATEST_INTEGER:
        return None
    return int(found[1]), UUID(hex=found[2])
