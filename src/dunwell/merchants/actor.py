"""Who does what is done: every use case takes an actor, and the audit log names it. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    SYSTEM = "SYSTEM"
    OPERATOR = "OPERATOR"
    CREDENTIAL = "CREDENTIAL"
    USER = "USER"
    DEBTOR = "DEBTOR"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does it. `actor_id` is a client id, a user's name, a session; none for the system."""

    kind: ActorKind
    actor_id: str | None = None


SYSTEM = Actor(ActorKind.SYSTEM)
