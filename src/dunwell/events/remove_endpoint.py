"""Remove a webhook endpoint: nothing more is delivered to it."""

from uuid import UUID

from dunwell.errors import NotFound
from dunwell.events.store_endpoints import lock_endpoint, mark_removed
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def remove_endpoint(work: Work, endpoint_id: UUID) -> None:
    """What was still to be delivered is given up; its log of tries stays. Raises NotFound."""
    endpoint = await lock_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    given_up = await mark_removed(work.tx, work.merchant_id, endpoint_id, work.now)
    await save_audit(work, "endpoint.remove", f"endpoint:{endpoint_id}", deliveriesGivenUp=given_up)
