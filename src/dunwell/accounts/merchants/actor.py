"""The actor of a use case, which the audit log names. Pure."""

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
    """The interface that the actor used."""

    WORKER = "WORKER"
    COMMAND_LINE = "COMMAND_LINE"
    API = "API"
    PORTAL = "PORTAL"
    LANDING_PAGE = "LANDING_PAGE"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an action came from, as the audit log records it."""

    interface: Interface
    # The client's network, shortened by `platform.http.addresses.render_network`; never the whole
    # address.
    network: str | None = None
    # The id of a user's session.
    session: str | None = None

    def as_json(self) -> Mapping[str, str]:
        """Return the form that is stored. Parts that are not known are left out."""
        parts = {"face": str(self.interface), "network": self.network, "session": self.session}
        return {name: value for name, value in parts.items() if value is not None}


def parse_origin(stored: Mapping[str, str]) -> Origin:
    """Parse what `as_json` returned."""
    return Origin(Interface(stored["face"]), stored.get("network"), stored.get("session"))


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `actor_id` is a credential's client id, a user's id, the id of a debtor's session
    or payment request, or an operator's command; None for the system. An actor without `rights` may
    do nothing."""

    kind: ActorKind
    actor_id: str | None = None
    rights: frozenset[Right] = field(default=frozenset(), kw_only=True)
    origin: Origin | None = field(default=None, kw_only=True)

    @property
    def origin_json(self) -> Mapping[str, str] | None:
        return None if self.origin is None else self.origin.as_json()


# Built once, because every request needs one of them.
_COMMAND_LINE_ORIGIN = Origin(Interface.COMMAND_LINE)
_LANDING_PAGE_ORIGIN = Origin(Interface.LANDING_PAGE)
_API_ORIGIN = Origin(Interface.API)

SYSTEM = Actor(ActorKind.SYSTEM, rights=SYSTEM_RIGHTS, origin=Origin(Interface.WORKER))


def build_operator_actor(command: str) -> Actor:
    """Return the actor of the operator's command line. `command` is what the audit log shows, such
    as "apply"."""
    return Actor(ActorKind.OPERATOR, command, rights=ALL_RIGHTS, origin=_COMMAND_LINE_ORIGIN)


COMMAND_LINE = build_operator_actor("command line")


def build_debtor_actor(session: str) -> Actor:
    """Return the actor of a debtor. `session` is the id of the debtor's session on the claim's
    page, or of the payment request that the debtor started there."""
    return Actor(ActorKind.DEBTOR, session, rights=DEBTOR_RIGHTS, origin=_LANDING_PAGE_ORIGIN)


def build_credential_actor(client_id: str, rights: frozenset[Right]) -> Actor:
    """Return the actor of an API credential, with the permissions of its scopes."""
    return Actor(ActorKind.CREDENTIAL, client_id, rights=rights, origin=_API_ORIGIN)


def build_user_actor(user_id: str, rights: frozenset[Right], origin: Origin) -> Actor:
    """Return the actor of a signed-in user, with the user's permissions at the
    merchant concerned.
    """
    return Actor(ActorKind.USER, user_id, rights=rights, origin=origin)
