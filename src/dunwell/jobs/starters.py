"""What whoever started a job may do now: never more than then, and less once it was taken away."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from dunwell.kit.db import Connection
from dunwell.merchants.actor import Actor, ActorKind
from dunwell.merchants.rights import Right, rights_of_scopes

# Of a person, by the user's id and the merchant: what their roles allow now.
FindUserRights: TypeAlias = Callable[[Connection, str, int], Awaitable[frozenset[Right]]]

# By the key of clients' ids.
_FIND_SCOPES = """
SELECT r.scopes
FROM credentials c
JOIN credential_reach r ON r.owner_id = c.merchant_id AND r.credential_id = c.credential_id
WHERE r.merchant_id = $1 AND c.client_id = $2 AND c.revoked_at IS NULL
"""


async def ask_rights_again(
    tx: Connection, merchant_id: int, starter: Actor, find_user_rights: FindUserRights | None
) -> Actor:
    """The starter with what is left of the rights the job was started with."""
    if starter.kind is ActorKind.CREDENTIAL:
        scopes = await tx.fetchval(_FIND_SCOPES, merchant_id, starter.actor_id)
        left = frozenset() if scopes is None else rights_of_scopes(tuple(scopes))
    elif starter.kind is ActorKind.USER and find_user_rights is not None:
        left = await find_user_rights(tx, starter.actor_id or "", merchant_id)
    else:
        return starter
    return replace(starter, rights=starter.rights & left)
