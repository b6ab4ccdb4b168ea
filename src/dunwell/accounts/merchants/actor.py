"""Who does what is done: every use case takes an actor, and the audit log names it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dunwell.accounts.merchants.rights import ALL_RIGHTS, DEBTOR_RIGHTS, SYSTEM_RIGHTS, Right


class ActorKind(StrEnum):
    SYSTEM = "SYSTEM"
    OPERATOR = "OPERATOR"
    CREDENTIAL = "CREDENTIAL"
    USER = "USER"
    DEBTOR = "DEBTOR"


class Interface(StrEnum):
    """By which way somebody came."""

    WORKER = "WORKER"
    COMMAND_LINE = "COMMAND_LINE"
    API = "API"
    PORTAL = "PORTAL"
    LANDING_PAGE = "LANDING_PAGE"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where it was done from; the audit log keeps it."""

    interface: Interface
    # Of the client, as `platform.http.addresses.name_network` shortens it: never the whole address.
    network: str | None = None
    # The id of a person's session.
    session: str | None = None

    def as_json(self) -> Mapping[str, str]:
        """What is kept; what is not known is left out."""
        parts = {"face": str(self.interface), "network": self.network, "session": self.session}
        return {name: value for name, value in parts.items() if value is not None}


def parse_origin(kept: Mapping[str, str]) -> Origin:
    """What `as_json` has written."""
    return Origin(Interface(kept["face"]), kept.get("network"), kept.get("session"))


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does it. `actor_id` is a client id, a user's id, a session; none for the system.

    Without `rights` nothing is allowed.
    """

    kind: ActorKind
    actor_id: str | None = None
    rights: frozenset[Right] = field(default=frozenset(), kw_only=True)
    origin: Origin | None = field(default=None, kw_only=True)

    @property
    def origin_json(self) -> Mapping[str, str] | None:
        return None if self.origin is None else self.origin.as_json()


# Made once: one of them is of every request.
_SHELL, _PAGE, _API = (
    Origin(Interface.COMMAND_LINE),
    Origin(Interface.LANDING_PAGE),
    Origin(Interface.API),
)

SYSTEM = Actor(ActorKind.SYSTEM, rights=SYSTEM_RIGHTS, origin=Origin(Interface.WORKER))


def operator_actor(word: str) -> Actor:
    """Whoever holds the operator's shell; `word` says by which command."""
    return Actor(ActorKind.OPERATOR, word, rights=ALL_RIGHTS, origin=_SHELL)


COMMAND_LINE = operator_actor("command line")


def debtor_actor(session: str) -> Actor:
    """Whoever opened a claim's page; which claim, the session says."""
    return Actor(ActorKind.DEBTOR, session, rights=DEBTOR_RIGHTS, origin=_PAGE)


def credential_actor(client_id: str, rights: frozenset[Right]) -> Actor:
    """A merchant's program, with what its credential's scopes allow."""
    return Actor(ActorKind.CREDENTIAL, client_id, rights=rights, origin=_API)


def user_actor(user_id: str, rights: frozenset[Right], origin: Origin) -> Actor:
    """A person who has signed in, with what the person may do at the merchant concerned."""
    return Actor(ActorKind.USER, user_id, rights=rights, origin=origin)
