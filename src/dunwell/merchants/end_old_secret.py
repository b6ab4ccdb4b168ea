"""End the secret that a rotation left alive, before its day is over: everybody has the new one."""

from datetime import datetime

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_revocations import save_old_secret_end


async def end_old_secret(work: Work, client_id: str, *, now: datetime) -> None:
    """`now` is real time. Raises NotFound when no old secret of a live credential is left."""
    if not await save_old_secret_end(work.tx, work.merchant_id, client_id, now):
        raise NotFound(
            f"The credential {client_id} has no old secret left; only the newest works. "
            "Nothing changed."
        )
    await save_audit(work, "credential.end-old-secret", f"credential:{client_id}")
