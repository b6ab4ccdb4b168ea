"""Exchange a client id and secret for an access token (spec, Authentication 2 to 4), and revoke it:
it stops working at once, on every process; its credential stays.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import credential_actor
from dunwell.accounts.merchants.audit import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.secrets import NewCredential, hash_secret, render_access_token
from dunwell.accounts.merchants.store import load_merchant, save_token
from dunwell.accounts.merchants.store_lookup import find_credential_by_secret
from dunwell.accounts.merchants.store_revocations import remove_token
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import AuthenticationError, NotFound
from dunwell.platform.ids import Ids

TOKEN_LIVES = timedelta(seconds=3600)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    access_token: str
    expires_in: int


async def issue_token(
    tx: Connection, given: NewCredential, *, now: datetime, randomness: bytes, ids: Ids
) -> IssuedToken:
    """`now` is real time, `randomness` SECRET_RANDOM_BYTES long. Raises AuthenticationError.

    It takes a transaction and no Work: whose credential it is turns out on the way.
    """
    key = await find_credential_by_secret(
        tx, given.client_id, hash_secret(given.client_secret), now
    )
    if key is None:
        raise AuthenticationError("The client id or the client secret is wrong, or was revoked.")
    token = render_access_token(randomness)
    await save_token(tx, key, hash_secret(token), issued_at=now, expires_at=now + TOKEN_LIVES)
    merchant = await load_merchant(tx, key.owner_id)
    assert merchant is not None
    actor = credential_actor(given.client_id, frozenset())
    work = Work(tx=tx, merchant=merchant, actor=actor, now=now, real_now=now, ids=ids)
    await save_audit(work, "token.issue", f"credential:{given.client_id}")
    return IssuedToken(token, int(TOKEN_LIVES.total_seconds()))


async def revoke_token(work: Work, token: str) -> str:
    """Answers the client id of the token's credential.

    Raises NotFound when the merchant has no such token, or it has expired.
    """
    work.need(Right.CONFIGURE)
    client_id = await remove_token(work.tx, work.merchant_id, hash_secret(token), work.real_now)
    if client_id is None:
        raise NotFound("There is no such access token; it may have expired. Nothing changed.")
    await save_audit(
        work, "token.revoke", f"credential:{client_id}",
        before={"token": MASKED}, after={"token": None},
    )  # fmt: skip
    return client_id
