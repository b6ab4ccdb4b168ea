"""Change which events an endpoint is sent, and the Authorization header they carry."""

from dataclasses import replace
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.events.endpoint import WantedEndpoint, check_endpoint, sort_types
from dunwell.events.sealing import seal_authorization
from dunwell.events.store_endpoints import lock_endpoint, save_endpoint
from dunwell.kit.crypto import KeyRing
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def change_endpoint(
    work: Work, keys: KeyRing, endpoint_id: UUID, types: tuple[str, ...], authorization: str | None
) -> None:
    """Set both; None takes the Authorization header away. The address never changes: another
    address is another endpoint. Raises ValidationError and NotFound."""
    endpoint = await lock_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    # The address was checked when it was added, under the profile of that time.
    check_endpoint(WantedEndpoint(endpoint.url, types, authorization), is_development=True)
    sealed = None
    if authorization is not None:
        sealed = seal_authorization(keys, work.merchant_id, endpoint_id, authorization)
    changed = replace(endpoint, types=sort_types(types), authorization_sealed=sealed)
    await save_endpoint(work.tx, changed)
    await save_audit(
        work,
        "endpoint.change",
        f"endpoint:{endpoint_id}",
        types=list(changed.types),
        hasAuthorization=authorization is not None,
    )
