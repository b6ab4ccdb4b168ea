"""Client secrets and access tokens: their format and stored hash, the exchange of a client id and
secret for a token, and the limit of failed attempts per network (spec, Authentication 2 to 4).

The caller supplies the random bytes: 16 for a client id, 32 (256 bits) for a secret or a token. The
prefixes let secret scanners recognise a leaked one.
"""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import build_credential_actor
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.credentials.store import delete_token, find_credential_by_secret
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant, save_token
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.attempts import count_attempt, load_attempts
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import AuthenticationError, NotFound, RateLimited
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.ids import Ids
from dunwell.platform.security_events import log_security_event

_ID_BYTES = 16
_SECRET_BYTES = 32
# The random bytes of a new credential: its id and its secret.
CREDENTIAL_RANDOM_BYTES = _ID_BYTES + _SECRET_BYTES
SECRET_RANDOM_BYTES = _SECRET_BYTES


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A client id and its secret, which is shown only once."""

    client_id: str
    client_secret: str


def render_credential(randomness: bytes) -> NewCredential:
    """Encode CREDENTIAL_RANDOM_BYTES random bytes as a client id and a secret."""
    if len(randomness) != CREDENTIAL_RANDOM_BYTES:
        raise ValueError(f"a credential needs {CREDENTIAL_RANDOM_BYTES} random bytes")
    client_id = "dwc_" + _encode(randomness[:_ID_BYTES])
    return NewCredential(client_id, render_client_secret(randomness[_ID_BYTES:]))


def render_client_secret(randomness: bytes) -> str:
    return "dws_" + _encode_secret(randomness)


def render_access_token(randomness: bytes) -> str:
    return "dwt_" + _encode_secret(randomness)


def hash_secret(secret: str) -> bytes:
    """Return the stored hash. SHA-256 suffices because the secret has 256 random bits."""
    return sha256(secret.encode())


def _encode_secret(randomness: bytes) -> str:
    if len(randomness) != _SECRET_BYTES:
        raise ValueError(f"a secret needs {_SECRET_BYTES} random bytes")
    return _encode(randomness)


def _encode(randomness: bytes) -> str:
    return base64.urlsafe_b64encode(randomness).rstrip(b"=").decode()


TOKEN_LIFETIME = timedelta(seconds=3600)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    access_token: str
    expires_in: int


async def issue_token(
    tx: Connection, credential: NewCredential, *, now: datetime, randomness: bytes, ids: Ids
) -> IssuedToken:
    """Issue an access token. `now` is real time, `randomness` has SECRET_RANDOM_BYTES bytes. Raises
    AuthenticationError.

    The parameter is a transaction, not a Work, because the merchant is known only after the lookup.
    """
    key = await find_credential_by_secret(
        tx, credential.client_id, hash_secret(credential.client_secret), now
    )
    if key is None:
        raise AuthenticationError("The client id or the client secret is wrong, or was revoked.")
    token = render_access_token(randomness)
    await save_token(tx, key, hash_secret(token), issued_at=now, expires_at=now + TOKEN_LIFETIME)
    merchant = await load_merchant(tx, key.owner_id)
    assert merchant is not None
    actor = build_credential_actor(credential.client_id, frozenset())
    work = Work(tx=tx, merchant=merchant, actor=actor, now=now, real_now=now, ids=ids)
    await save_audit(work, "token.issue", f"credential:{credential.client_id}")
    return IssuedToken(token, int(TOKEN_LIFETIME.total_seconds()))


async def revoke_token(work: Work, token: str) -> str:
    """Revoke an access token and return the client id of its credential. Raises NotFound if the
    merchant has no such token or it has expired."""
    work.require(Right.CONFIGURE)
    client_id = await delete_token(work.tx, work.merchant_id, hash_secret(token), work.real_now)
    if client_id is None:
        raise NotFound("There is no such access token; it may have expired. Nothing changed.")
    await save_audit(
        work, "token.revoke", f"credential:{client_id}",
        before={"token": MASKED}, after={"token": None},
    )  # fmt: skip
    return client_id


# The limit of failed attempts from one network within WINDOW.
MAX_WRONG_SECRETS = 20
WINDOW = timedelta(minutes=5)
_PURPOSE = "sign-in-visitor"


def digest_client_network(keys: KeyRing, host: str) -> bytes:
    """Return the digest under which failed attempts from this address's network are counted."""
    return keys.digest(_PURPOSE, get_visitor_network(host))


async def issue_token_with_limit(
    tx: Connection, credential: NewCredential, *, visitor: bytes, now: datetime, randomness: bytes,
    ids: Ids,
) -> IssuedToken | AuthenticationError | RateLimited:  # fmt: skip
    """Issue a token as `issue_token` does, unless too many attempts from this network failed.
    `visitor` is what `digest_client_network` returned. The errors are returned, not raised: commit
    the transaction in this case, too, because it counts the attempt."""
    failures = await load_attempts(tx, visitor)
    if failures is not None and failures.first_at + WINDOW <= now:
        failures = None
    if failures is not None and failures.count >= MAX_WRONG_SECRETS:
        seconds = (failures.first_at + WINDOW - now).total_seconds()
        return RateLimited(
            "Too many wrong client secrets came from this address. Correct the client id and the "
            "client secret, and wait for the seconds in Retry-After.",
            retry_after=int(seconds) + 1,
        )
    try:
        return await issue_token(tx, credential, now=now, randomness=randomness, ids=ids)
    except AuthenticationError as refusal:
        await count_attempt(tx, visitor, failures, now)
        return refusal


def log_refused_token_request(refusal: AuthenticationError | RateLimited, request_id: str) -> None:
    """Log the refusal with the request id only. A wrong client id belongs to no merchant."""
    is_locked = isinstance(refusal, RateLimited)
    log_security_event("SIGN_IN_LOCKED" if is_locked else "SIGN_IN_FAILED", request_id=request_id)
