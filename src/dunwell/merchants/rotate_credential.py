"""Give a credential a new secret; the old one works for a day, so that nobody is locked out."""

from datetime import timedelta

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.secrets import NewCredential, hash_secret, render_client_secret
from dunwell.merchants.store import save_rotation
from dunwell.merchants.store_revocations import save_old_secret_end

OLD_SECRET_LIVES = timedelta(hours=24)


async def rotate_credential(work: Work, client_id: str, *, randomness: bytes) -> NewCredential:
    """`randomness` is SECRET_RANDOM_BYTES long. Two secrets live at most: one that was ending
    already ends now. Raises NotFound when there is no live credential of this id.
    """
    secret = render_client_secret(randomness)
    old_until = work.real_now + OLD_SECRET_LIVES
    rotated = await save_rotation(
        work.tx,
        work.merchant_id,
        client_id,
        hash_secret(secret),
        now=work.real_now,
        old_until=old_until,
    )
    if rotated is None:
        raise NotFound(f"The merchant has no live credential {client_id}. Check the client id.")
    await save_audit(
        work, "credential.rotate", f"credential:{client_id}", oldUntil=old_until.isoformat()
    )
    return NewCredential(client_id, secret)


async def end_old_secret(work: Work, client_id: str) -> None:
    """Before its day is over: everybody has the new one.

    Raises NotFound when no old secret of a live credential is left.
    """
    if not await save_old_secret_end(work.tx, work.merchant_id, client_id, work.real_now):
        raise NotFound(
            f"The credential {client_id} has no old secret left; only the newest works. "
            "Nothing changed."
        )
    await save_audit(work, "credential.end-old-secret", f"credential:{client_id}")
