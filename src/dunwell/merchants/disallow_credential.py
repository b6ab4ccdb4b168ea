"""Let a credential of one merchant reach another no more: from its next request on, everywhere."""

from dunwell.errors import InvalidState, NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.lookup import find_credential
from dunwell.merchants.store_revocations import remove_reach


async def disallow_credential(work: Work, client_id: str) -> bool:
    """The work's merchant is the one that was reached.

    False: it was not, nothing changed. Raises NotFound for an unknown client id and InvalidState
    for a credential of the merchant's own, which is revoked instead.
    """
    key = await find_credential(work.tx, client_id)
    if key is None:
        raise NotFound(f"There is no credential {client_id}. Check the client id.")
    if key.owner_id == work.merchant_id:
        raise InvalidState(
            f"{client_id} is a credential of {work.merchant.key} itself. Revoke it instead.",
            state="OWN",
        )
    if not await remove_reach(work.tx, work.merchant_id, key):
        return False
    await save_audit(work, "credential.disallow", f"credential:{client_id}", ownerId=key.owner_id)
    return True
