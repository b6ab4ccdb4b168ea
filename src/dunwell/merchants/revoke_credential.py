"""Revoke a credential: it and its tokens stop working at once, on every process."""

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_revocations import save_revocation


async def revoke_credential(work: Work, client_id: str) -> None:
    """Raises NotFound when the merchant has no live credential of this id."""
    if await save_revocation(work.tx, work.merchant_id, client_id, work.real_now) is None:
        raise NotFound(f"The merchant has no live credential {client_id}. Check the client id.")
    await save_audit(work, "credential.revoke", f"credential:{client_id}")
