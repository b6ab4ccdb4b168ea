"""Let a credential of one merchant reach another (CONTRACT 2); there is no other way to."""

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.lookup import find_credential
from dunwell.merchants.store import save_reach


async def allow_credential(work: Work, client_id: str) -> bool:
    """The work's merchant is the one to be reached.

    False: it was reached already, nothing changed. Raises NotFound for an unknown client id.
    """
    key = await find_credential(work.tx, client_id)
    if key is None:
        raise NotFound(f"There is no credential {client_id}. Check the client id.")
    if not await save_reach(work.tx, work.merchant_id, key, work.real_now):
        return False
    await save_audit(work, "credential.allow", f"credential:{client_id}", ownerId=key.owner_id)
    return True
