"""Give an endpoint a new secret without refusing a single delivery."""

from datetime import timedelta
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.events.endpoint import NewSecret
from dunwell.events.sealing import make_secret, seal_secret
from dunwell.events.store_endpoints import lock_endpoint, save_secret
from dunwell.kit.crypto import KeyRing
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit

OVERLAP = timedelta(hours=24)


async def rotate_secret(work: Work, keys: KeyRing, endpoint_id: UUID) -> NewSecret:
    """For 24 hours of real time deliveries are signed with both secrets. Rotating again within
    them drops the oldest at once. Raises NotFound."""
    endpoint = await lock_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    secret = make_secret()
    sealed = seal_secret(keys, work.merchant_id, endpoint_id, secret)
    await save_secret(work.tx, work.merchant_id, endpoint_id, sealed, work.real_now + OVERLAP)
    await save_audit(work, "endpoint.rotate_secret", f"endpoint:{endpoint_id}")
    return NewSecret(endpoint_id, endpoint.url, secret)
