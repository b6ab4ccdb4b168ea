"""Revoke one access token: it stops working at once, on every process; its credential stays."""

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.secrets import hash_secret
from dunwell.merchants.store_revocations import remove_token


async def revoke_token(work: Work, token: str) -> str:
    """Answers the client id of the token's credential.

    Raises NotFound when the merchant has no such token, or it has expired.
    """
    client_id = await remove_token(work.tx, work.merchant_id, hash_secret(token), work.real_now)
    if client_id is None:
        raise NotFound("There is no such access token; it may have expired. Nothing changed.")
    await save_audit(work, "token.revoke", f"credential:{client_id}")
    return client_id
