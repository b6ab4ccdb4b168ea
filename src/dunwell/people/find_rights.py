"""What a user may do at a merchant at this moment, for what goes on without a session of theirs."""

from uuid import UUID

from dunwell.kit.db import Connection
from dunwell.merchants.rights import ROLE_RIGHTS, Right
from dunwell.people.store import load_user


async def find_rights(tx: Connection, user_id: UUID, merchant_id: int) -> frozenset[Right]:
    """None for whoever was ended, or does not reach the merchant."""
    user = await load_user(tx, user_id)
    if user is None or user.ended_at is not None:
        return frozenset()
    roles = (user.place.everywhere, user.place.memberships.get(merchant_id))
    return frozenset(right for role in roles if role is not None for right in ROLE_RIGHTS[role])
