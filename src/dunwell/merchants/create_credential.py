"""Make a credential of a merchant; its secret is answered once and stored as a hash."""

from dunwell.errors import Fault, InvalidState, ValidationError
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.quotas import REQUESTS_PER_MINUTE
from dunwell.merchants.secrets import NewCredential, hash_secret, render_credential
from dunwell.merchants.store import Credential, save_credential


async def create_credential(
    work: Work, name: str, *, randomness: bytes, requests_per_minute: int = REQUESTS_PER_MINUTE
) -> NewCredential:
    """`randomness` is CREDENTIAL_RANDOM_BYTES long.

    Raises ValidationError (name, limit) and InvalidState (the merchant has one of this name).
    """
    check_credential(name, requests_per_minute)
    new = render_credential(randomness)
    credential = Credential(
        work.ids.new(work.real_now), name, new.client_id, requests_per_minute, None
    )
    if not await save_credential(
        work.tx, work.merchant_id, credential, hash_secret(new.client_secret), work.real_now
    ):
        raise InvalidState(
            f'The merchant has a credential named "{name}" already. Use another name or rotate it.',
            state="EXISTS",
        )
    await save_audit(
        work, "credential.create", f"credential:{new.client_id}",
        requestsPerMinute=requests_per_minute,
    )  # fmt: skip
    return new


def check_credential(name: str, requests_per_minute: int) -> None:
    faults = []
    if not 1 <= len(name) <= 255 or not name.isprintable():
        faults.append(Fault("/name", "Use 1 to 255 printable characters.", "WRONG_FORMAT"))
    if not 1 <= requests_per_minute <= 10_000_000:
        faults.append(Fault("/requestsPerMinute", "Use 1 to 10000000.", "WRONG_FORMAT"))
    if faults:
        raise ValidationError(faults)
