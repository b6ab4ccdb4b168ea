"""The context of use cases about users, who belong to no merchant, and their audit entries."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor, ActorKind, Interface, Origin
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import get_visitor_network, render_network
from dunwell.platform.ids import Ids
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class UserWork:
    """The context of a use case about users: an open transaction, the actor, and the real time."""

    tx: Connection
    actor: Actor
    now: datetime
    ids: Ids
    keys: KeyRing
    # The public URL of the installation, under which the portal is, for links in e-mails.
    public_url: str

    @classmethod
    def open(cls, resources: Resources, tx: Connection, actor: Actor) -> Self:
        return cls(
            tx=tx, actor=actor, now=resources.clock.now(), ids=resources.ids, keys=resources.keys,
            public_url=resources.settings.public_url,
        )  # fmt: skip

    def require(self, right: Right) -> None:
        """Check the permission, as `Work.require` does. Raises InsufficientScope."""
        check_right(self.actor, right)


_NETWORK_PURPOSE = "portal-place"
# Tokens of the User-Agent header. The first match counts, because most browsers also name others.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
    ("Mac OS", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip
_MAX_USER_AGENT_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Visitor:
    """`host` is the client's address. `browser_cookie` is the cookie of a known browser, or ""."""

    host: str
    user_agent: str = ""
    browser_cookie: str = ""


def digest_network(keys: KeyRing, visitor: Visitor) -> tuple[bytes, ...]:
    """Return digests of the visitor's network with every version of the secret key, the current one
    first."""
    return keys.digests(_NETWORK_PURPOSE, get_visitor_network(visitor.host))


def describe_browser(user_agent: str) -> str:
    """Return browser and system, such as "Firefox, Linux", or "" if they are unknown."""
    beginning = user_agent[:_MAX_USER_AGENT_LENGTH]
    names = [_find_name(beginning, _BROWSERS), _find_name(beginning, _SYSTEMS)]
    return ", ".join(name for name in names if name)


def _find_name(text: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for token, name in names if re.search(rf"\b{token}", text)), "")


_VISITOR = "VISITOR"


async def save_user_audit(
    work: UserWork, action: str, user_id: UUID, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Record that the actor did `action` to the user. Record ids, roles and statuses, never names
    or addresses."""
    action_record = InstallationAction(
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        action=action,
        subject=f"user:{user_id}",
        before=before,
        after=after,
        origin=None if work.actor.origin is None else work.actor.origin.as_json(),
    )
    await save_installation_audit(work.tx, action_record, work.now, work.ids)


async def save_refused_sign_in(
    work: UserWork, user_id: UUID | None, host: str, *, after: Mapping[str, str] | None = None
) -> None:
    """Record a wrong password, code or passkey, or a refusal after single sign-on. `user_id` is
    None if the user is not known. `after` has the reason, if several reasons are possible."""
    action_record = InstallationAction(
        actor_kind=_VISITOR,
        action="session.refuse",
        subject=f"user:{user_id or 'unknown'}",
        after=after,
        origin=Origin(Interface.PORTAL, network=render_network(host)).as_json(),
    )
    await save_installation_audit(work.tx, action_record, work.now, work.ids)


def build_visitor_actor(user_id: UUID | None, host: str, session_id: UUID | None = None) -> Actor:
    """Return the actor of a sign-in, without permissions. `user_id` None: the user is not known
    yet."""
    session = None if session_id is None else str(session_id)
    origin = Origin(Interface.PORTAL, network=render_network(host), session=session)
    return Actor(ActorKind.USER, None if user_id is None else str(user_id), origin=origin)
