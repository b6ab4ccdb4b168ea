"""When a hold stands and who may open one (CONTRACT 4).

A hold stops the process; several may stand at once, and the process goes on when the last falls.
Holds that a debtor makes always end by themselves, at most one of each kind in 30 days. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.text.lazy_text import LazyText

_DEBTORS_INTERVAL = timedelta(days=30)


class HoldKind(StrEnum):
    DISPUTE = "DISPUTE"
    PAUSE = "PAUSE"
    MODALITY_REQUESTED = "MODALITY_REQUESTED"
    MODALITY_ACTIVE = "MODALITY_ACTIVE"
    PAYMENT_PENDING = "PAYMENT_PENDING"


DEBTORS_OWN = frozenset({HoldKind.PAUSE, HoldKind.PAYMENT_PENDING})


@dataclass(frozen=True, slots=True)
class Hold:
    kind: HoldKind
    since: datetime
    until: datetime | None
    lifted_at: datetime | None
    actor_kind: ActorKind
    reason: str | None = None
    # None: not stored yet.
    hold_id: UUID | None = None
    # Who opened it among those of its kind: a session, a payment request.
    actor_id: str | None = None

    def stands(self, now: datetime) -> bool:
        return self.lifted_at is None and (self.until is None or now < self.until)


def check_new_hold(hold: Hold, earlier: Iterable[Hold]) -> None:
    """Raises ValidationError or InvalidState when the hold may not be opened."""
    if hold.until is not None and hold.until <= hold.since:
        fault = Fault("/until", "The hold must end after it begins.", "WRONG_ORDER")
        raise ValidationError([fault])
    if hold.actor_kind is not ActorKind.DEBTOR or hold.kind not in DEBTORS_OWN:
        return
    if hold.until is None:
        raise ValidationError([Fault("/until", "Give the hold an end.", "REQUIRED")])
    for other in earlier:
        is_like = other.kind is hold.kind and other.actor_kind is ActorKind.DEBTOR
        if is_like and hold.since < other.since + _DEBTORS_INTERVAL:
            raise InvalidState(
                LazyText("This was asked for in the last 30 days already."),
                state=str(hold.kind),
            )
