"""What whoever started a job may do now: never more than then, and less once it was taken away."""

from dataclasses import replace
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, ActorKind
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, rights_of_scopes
from dunwell.accounts.users.store import load_user
from dunwell.platform.database.database import Connection

# By the key of clients' ids.
_FIND_SCOPES = """
SELECT r.scopes
FROM credentials c
JOIN credential_reach r ON r.owner_id = c.merchant_id AND r.credential_id = c.credential_id
WHERE r.merchant_id = $1 AND c.client_id = $2 AND c.revoked_at IS NULL
"""


async def ask_rights_again(tx: Connection, merchant_id: int, starter: Actor) -> Actor:
    """The starter with what is left of the rights the job was started with."""
    if starter.kind is ActorKind.CREDENTIAL:
        scopes = await tx.fetchval(_FIND_SCOPES, merchant_id, starter.actor_id)
        left = frozenset() if scopes is None else rights_of_scopes(tuple(scopes))
    elif starter.kind is ActorKind.USER:
        assert starter.actor_id is not None
        left = await find_rights(tx, UUID(starter.actor_id), merchant_id)
    else:
        return starter
    return replace(starter, rights=starter.rights & left)


async def find_rights(tx: Connection, user_id: UUID, merchant_id: int) -> frozenset[Right]:
    """None for whoever was ended, or does not reach the merchant."""
    user = await load_user(tx, user_id)
    if user is None or user.ended_at is not None:
        return frozenset()
    roles = (user.place.everywhere, user.place.memberships.get(merchant_id))
    return frozenset(right for role in roles if role is not None for right in ROLE_RIGHTS[role])
