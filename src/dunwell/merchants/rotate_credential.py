"""Give a credential a new secret; the old one works for a day, so that nobody is locked out."""

from datetime import datetime, timedelta

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.secrets import NewCredential, hash_secret, render_client_secret
from dunwell.merchants.store import save_rotation

OLD_SECRET_LIVES = timedelta(hours=24)


async def rotate_credential(
    work: Work, client_id: str, *, now: datetime, randomness: bytes
) -> NewCredential:
    """`now` is real time, `randomness` SECRET_RANDOM_BYTES long. Two secrets live at most: one
    that was ending already ends now. Raises NotFound when there is no live credential of this id.
    """
    secret = render_client_secret(randomness)
    old_until = now + OLD_SECRET_LIVES
    rotated = await save_rotation(
        work.tx, work.merchant_id, client_id, hash_secret(secret), now=now, old_until=old_until
    )
    if rotated is None:
        raise NotFound(f"The merchant has no live credential {client_id}. Check the client id.")
    await save_audit(
        work, "credential.rotate", f"credential:{client_id}", oldUntil=old_until.isoformat()
    )
    return NewCredential(client_id, secret)
