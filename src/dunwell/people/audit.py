"""What people do that concerns people, for the audit log of the installation."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from dunwell.installation.audit import Act, save_installation_audit
from dunwell.kit.addresses import name_network
from dunwell.merchants.actor import Actor, ActorKind, Face, Origin
from dunwell.people.people_work import PeopleWork

_VISITOR = "VISITOR"


async def save_people_audit(
    work: PeopleWork, action: str, user_id: UUID, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """The work's actor did `action` to the user. Ids, roles and states; no names, no addresses."""
    act = Act(
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        action=action,
        subject=f"user:{user_id}",
        before=before,
        after=after,
        origin=None if work.actor.origin is None else work.actor.origin.as_json(),
    )
    await save_installation_audit(work.tx, act, work.now, work.ids)


async def save_refused_sign_in(work: PeopleWork, user_id: UUID | None, host: str) -> None:
    """Somebody brought a wrong password, code or passkey. None: for nobody we know."""
    act = Act(
        actor_kind=_VISITOR,
        action="session.refuse",
        subject=f"user:{user_id or 'unknown'}",
        origin=Origin(Face.PORTAL, network=name_network(host)).as_json(),
    )
    await save_installation_audit(work.tx, act, work.now, work.ids)


def visiting(actor_id: UUID, host: str) -> Actor:
    """Who is about to sign in, before there is a session."""
    origin = Origin(Face.PORTAL, network=name_network(host))
    return Actor(ActorKind.USER, str(actor_id), origin=origin)
