"""What people do that concerns people, for the audit log of the installation."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from dunwell.accounts.installation.audit_log import InstallationAct, save_installation_audit
from dunwell.accounts.merchants.actor import Actor, ActorKind, Interface, Origin
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.http.addresses import name_network

_VISITOR = "VISITOR"


async def save_people_audit(
    work: UserWork, action: str, user_id: UUID, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """The work's actor did `action` to the user. Ids, roles and states; no names, no addresses."""
    act = InstallationAct(
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        action=action,
        subject=f"user:{user_id}",
        before=before,
        after=after,
        origin=None if work.actor.origin is None else work.actor.origin.as_json(),
    )
    await save_installation_audit(work.tx, act, work.now, work.ids)


async def save_refused_sign_in(
    work: UserWork, user_id: UUID | None, host: str, *, after: Mapping[str, str] | None = None
) -> None:
    """Somebody brought a wrong password, code or passkey, or was refused after a provider's word.
    None: for nobody we know. after: why, where there is more than one reason."""
    act = InstallationAct(
        actor_kind=_VISITOR,
        action="session.refuse",
        subject=f"user:{user_id or 'unknown'}",
        after=after,
        origin=Origin(Interface.PORTAL, network=name_network(host)).as_json(),
    )
    await save_installation_audit(work.tx, act, work.now, work.ids)


def visiting(user_id: UUID | None, host: str, session_id: UUID | None = None) -> Actor:
    """Whoever signs in, who may do nothing by it. None: who it is turns out on the way."""
    session = None if session_id is None else str(session_id)
    origin = Origin(Interface.PORTAL, network=name_network(host), session=session)
    return Actor(ActorKind.USER, None if user_id is None else str(user_id), origin=origin)
