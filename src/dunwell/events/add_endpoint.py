"""Add a webhook endpoint to a merchant."""

from dunwell.errors import InvalidState
from dunwell.events.endpoint import Endpoint, NewSecret, WantedEndpoint, check_endpoint, sort_types
from dunwell.events.retry import WELL
from dunwell.events.sealing import make_secret, seal_authorization, seal_secret
from dunwell.events.store_endpoints import insert_endpoint
from dunwell.kit.crypto import KeyRing
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def add_endpoint(
    work: Work, keys: KeyRing, wanted: WantedEndpoint, *, is_development: bool
) -> NewSecret:
    """Store the endpoint; events from now on are delivered to it.

    The secret in the answer cannot be read again. Raises ValidationError, and InvalidState when
    the merchant already has an endpoint at this address.
    """
    check_endpoint(wanted, is_development=is_development)
    merchant_id, endpoint_id, secret = work.merchant_id, work.ids.new(work.now), make_secret()
    sealed = None
    if wanted.authorization is not None:
        sealed = seal_authorization(keys, merchant_id, endpoint_id, wanted.authorization)
    endpoint = Endpoint(
        merchant_id=merchant_id,
        endpoint_id=endpoint_id,
        url=wanted.url,
        types=sort_types(wanted.types),
        secret_sealed=seal_secret(keys, merchant_id, endpoint_id, secret),
        previous_secret_sealed=None,
        previous_secret_until=None,
        authorization_sealed=sealed,
        health=WELL,
    )
    if not await insert_endpoint(work.tx, endpoint, work.now):
        message = "There is already an endpoint at this address; change or remove that one."
        raise InvalidState(message, state="EXISTS")
    await save_audit(work, "endpoint.add", f"endpoint:{endpoint_id}", types=list(endpoint.types))
    return NewSecret(endpoint_id, wanted.url, secret)
