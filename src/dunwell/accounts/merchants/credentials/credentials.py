"""Manage API credentials: create one, rotate its secret, revoke it, and give it access to another
merchant (CONTRACT 2).

Secrets are returned once and stored as hashes. A revocation takes effect at once in every process.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.credentials.credential import REQUESTS_PER_MINUTE, Credential
from dunwell.accounts.merchants.credentials.store import (
    CredentialRotation,
    delete_grant,
    find_credential,
    load_rotation,
    save_old_secret_expiry,
    save_revocation,
)
from dunwell.accounts.merchants.credentials.tokens import (
    NewCredential,
    hash_secret,
    render_client_secret,
    render_credential,
)
from dunwell.accounts.merchants.rights import Right, Scope, order_scopes, rights_of_scopes
from dunwell.accounts.merchants.store import (
    load_credentials,
    load_grant,
    save_credential,
    save_grant,
    save_rotation,
)
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError

# How long the previous secret stays valid after a rotation.
OLD_SECRET_LIFETIME = timedelta(hours=24)


async def create_credential(
    work: Work, name: str, *, randomness: bytes, requests_per_minute: int = REQUESTS_PER_MINUTE,
    scopes: Sequence[Scope] = (Scope.ALL,),
) -> NewCredential:  # fmt: skip
    """Create a credential. `randomness` has CREDENTIAL_RANDOM_BYTES bytes.

    Raises ValidationError (name, limit or scopes) and InvalidState if the name is taken.
    """
    work.require(Right.CONFIGURE)
    _check_new(work, name, requests_per_minute, scopes)
    new = render_credential(randomness)
    credential = Credential(
        credential_id=work.ids.new(work.real_now),
        name=name,
        client_id=new.client_id,
        requests_per_minute=requests_per_minute,
        revoked_at=None,
        scopes=order_scopes(scopes),
    )
    if not await save_credential(
        work.tx,
        work.merchant_id,
        credential=credential,
        secret_hash=hash_secret(new.client_secret),
        now=work.real_now,
    ):
        raise InvalidState(
            f'The merchant already has a credential named "{name}". Use another name or rotate it.',
            state="EXISTS",
        )
    await save_audit(
        work, "credential.create", f"credential:{new.client_id}",
        after={"name": name, "scopes": credential.scopes},
        requestsPerMinute=requests_per_minute,
    )  # fmt: skip
    return new


async def list_credentials(work: Work) -> Sequence[Credential]:
    """Return the merchant's own credentials, oldest first, including revoked ones."""
    work.require(Right.CONFIGURE)
    return await load_credentials(work.tx, work.merchant_id)


async def get_rotation(work: Work, client_id: str) -> CredentialRotation:
    """Return the state of the credential's secrets. Raises NotFound if the merchant has no active
    credential with this id."""
    work.require(Right.CONFIGURE)
    rotation = await load_rotation(work.tx, work.merchant_id, client_id, work.real_now)
    if rotation is None:
        raise NotFound(f"The merchant has no active credential {client_id}. Check the client id.")
    return rotation


async def rotate_credential(
    work: Work, client_id: str, *, randomness: bytes, known_created_at: datetime | None = None
) -> NewCredential:
    """Give the credential a new secret. The old one works for another 24 hours; one that was
    already ending stops working at once, so that at most two secrets are valid.

    `randomness` has SECRET_RANDOM_BYTES bytes. `known_created_at` is the creation time of the
    secret that the user saw. Raises NotFound, and EditConflict if the secret was rotated since
    then.
    """
    work.require(Right.CONFIGURE)
    if known_created_at is not None:
        rotation = await get_rotation(work, client_id)
        if rotation.created_at != known_created_at:
            raise EditConflict("The credential was rotated in the meantime.")
    secret = render_client_secret(randomness)
    old_until = work.real_now + OLD_SECRET_LIFETIME
    rotated = await save_rotation(
        work.tx,
        work.merchant_id,
        client_id,
        hash_secret(secret),
        now=work.real_now,
        old_until=old_until,
    )
    if rotated is None:
        raise NotFound(f"The merchant has no active credential {client_id}. Check the client id.")
    await save_audit(
        work, "credential.rotate", f"credential:{client_id}",
        before={"secret": MASKED, "oldUntil": None},
        after={"secret": MASKED, "oldUntil": old_until.isoformat()},
        oldUntil=old_until.isoformat(),
    )  # fmt: skip
    return NewCredential(client_id, secret)


async def end_old_secret(work: Work, client_id: str) -> None:
    """End the old secret before its 24 hours are over. Raises NotFound if there is none."""
    work.require(Right.CONFIGURE)
    if not await save_old_secret_expiry(work.tx, work.merchant_id, client_id, work.real_now):
        raise NotFound(
            f"The credential {client_id} has no old secret left; only the newest works. "
            "Nothing changed."
        )
    await save_audit(
        work, "credential.end-old-secret", f"credential:{client_id}",
        before={"oldSecret": MASKED}, after={"oldSecret": None},
    )  # fmt: skip


async def revoke_credential(work: Work, client_id: str) -> None:
    """Revoke the credential. Raises NotFound if the merchant has no active credential with
    this id.
    """
    work.require(Right.CONFIGURE)
    if await save_revocation(work.tx, work.merchant_id, client_id, work.real_now) is None:
        raise NotFound(f"The merchant has no active credential {client_id}. Check the client id.")
    await save_audit(
        work, "credential.revoke", f"credential:{client_id}",
        before={"state": "LIVE"}, after={"state": "REVOKED"},
    )  # fmt: skip


async def allow_credential(
    work: Work, client_id: str, scopes: Sequence[Scope] | None = None
) -> bool:
    """Give the credential access to the work's merchant with these scopes. Without `scopes`, a
    credential that has access already keeps its scopes, and one without access gets ALL.

    Return False if nothing changed. Raises NotFound for an unknown client id, ValidationError.
    """
    work.require(Right.CONFIGURE)
    if scopes is not None:
        _check_scopes(work, scopes)
    key = await find_credential(work.tx, client_id)
    if key is None:
        raise NotFound(f"There is no credential {client_id}. Check the client id.")
    present = await load_grant(work.tx, work.merchant_id, key)
    wanted = order_scopes(scopes or present or (Scope.ALL,))
    if present == wanted:
        return False
    await save_grant(work.tx, work.merchant_id, key, wanted, now=work.real_now)
    await save_audit(
        work, "credential.allow", f"credential:{client_id}",
        before=None if present is None else {"scopes": present},
        after={"scopes": wanted},
        ownerId=key.owner_id,
    )  # fmt: skip
    return True


async def disallow_credential(work: Work, client_id: str) -> bool:
    """Withdraw the credential's access to the work's merchant. Return False if it had no access.

    Raises NotFound for an unknown client id, InvalidState for the merchant's own credential, which
    is revoked instead.
    """
    work.require(Right.CONFIGURE)
    key = await find_credential(work.tx, client_id)
    if key is None:
        raise NotFound(f"There is no credential {client_id}. Check the client id.")
    if key.owner_id == work.merchant_id:
        raise InvalidState(
            f"{client_id} is a credential of {work.merchant.key} itself. Revoke it instead.",
            state="OWN",
        )
    present = await load_grant(work.tx, work.merchant_id, key)
    if present is None:
        return False
    await delete_grant(work.tx, work.merchant_id, key)
    await save_audit(
        work, "credential.disallow", f"credential:{client_id}",
        before={"scopes": present}, ownerId=key.owner_id,
    )  # fmt: skip
    return True


def _check_new(work: Work, name: str, requests_per_minute: int, scopes: Sequence[Scope]) -> None:
    """Check a new credential. Raises ValidationError with every fault, InsufficientScope."""
    faults = [*_find_scope_faults(scopes)]
    if not 1 <= len(name) <= 255 or not name.isprintable():
        faults.append(Fault("/name", "Use 1 to 255 printable characters.", "WRONG_FORMAT"))
    if not 1 <= requests_per_minute <= 10_000_000:
        faults.append(Fault("/requestsPerMinute", "Use 1 to 10000000.", "WRONG_FORMAT"))
    if faults:
        raise ValidationError(faults)
    _check_scopes(work, scopes)


def _find_scope_faults(scopes: Sequence[Scope]) -> Iterator[Fault]:
    if not scopes:
        yield Fault("/scope", f"Give at least one of {', '.join(Scope)}.", "TOO_FEW")


def _check_scopes(work: Work, scopes: Sequence[Scope]) -> None:
    """Check that the actor has every permission that the scopes give. Raises ValidationError,
    InsufficientScope."""
    faults = [*_find_scope_faults(scopes)]
    if faults:
        raise ValidationError(faults)
    for right in sorted(rights_of_scopes(tuple(scopes))):
        work.require(right)
