"""Exchanges a client id and secret for an access token, counts wrong ones by visitor, and revokes
tokens (spec, Authentication 2 to 4).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import credential_actor
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.credentials.secrets import (
    NewCredential,
    hash_secret,
    render_access_token,
)
from dunwell.accounts.merchants.credentials.store import delete_token, find_credential_by_secret
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant, save_token
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import count_attempt, load_attempts
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import AuthenticationError, NotFound, RateLimited
from dunwell.platform.http.addresses import find_network
from dunwell.platform.ids import Ids
from dunwell.platform.security_events import log_security_event

TOKEN_LIFETIME = timedelta(seconds=3600)


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
    await save_token(tx, key, hash_secret(token), issued_at=now, expires_at=now + TOKEN_LIFETIME)
    merchant = await load_merchant(tx, key.owner_id)
    assert merchant is not None
    actor = credential_actor(given.client_id, frozenset())
    work = Work(tx=tx, merchant=merchant, actor=actor, now=now, real_now=now, ids=ids)
    await save_audit(work, "token.issue", f"credential:{given.client_id}")
    return IssuedToken(token, int(TOKEN_LIFETIME.total_seconds()))


async def revoke_token(work: Work, token: str) -> str:
    """Answers the client id of the token's credential.

    Raises NotFound when the merchant has no such token, or it has expired.
    """
    work.require(Right.CONFIGURE)
    client_id = await delete_token(work.tx, work.merchant_id, hash_secret(token), work.real_now)
    if client_id is None:
        raise NotFound("There is no such access token; it may have expired. Nothing changed.")
    await save_audit(
        work, "token.revoke", f"credential:{client_id}",
        before={"token": MASKED}, after={"token": None},
    )  # fmt: skip
    return client_id


MAX_WRONG_SECRETS = 20
WINDOW = timedelta(minutes=5)
_PURPOSE = "sign-in-visitor"


def digest_client_network(keys: KeyRing, host: str) -> bytes:
    """The visitor at this address (`find_network`)."""
    return keys.digest(_PURPOSE, find_network(host))


async def issue_token_with_limit(
    tx: Connection, given: NewCredential, *, visitor: bytes, now: datetime, randomness: bytes,
    ids: Ids,
) -> IssuedToken | AuthenticationError | RateLimited:  # fmt: skip
    """As `issue_token`. What it wrote is to be committed, whatever it answers."""
    known = await load_attempts(tx, visitor)
    if known is not None and known.first_at + WINDOW <= now:
        known = None
    if known is not None and known.count >= MAX_WRONG_SECRETS:
        seconds = (known.first_at + WINDOW - now).total_seconds()
        return RateLimited(
            "Too many wrong client secrets came from this address. Correct the client id and the "
            "client secret, and wait as many seconds as Retry-After says.",
            retry_after=int(seconds) + 1,
        )
    try:
        return await issue_token(tx, given, now=now, randomness=randomness, ids=ids)
    except AuthenticationError as refusal:
        await count_attempt(tx, visitor, known, now)
        return refusal


def log_refused_token_request(refusal: AuthenticationError | RateLimited, request_id: str) -> None:
    """By the request alone: whose client id it is nobody knows."""
    is_locked = isinstance(refusal, RateLimited)
    log_security_event("SIGN_IN_LOCKED" if is_locked else "SIGN_IN_FAILED", request_id=request_id)
