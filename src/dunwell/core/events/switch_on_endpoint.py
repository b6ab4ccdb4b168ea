"""Switches an endpoint on again that lasting failure has switched off, without waiting for a probe.

What waited for it is sent by its schedule; should it still fail, it has five days more.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.retry import WELL
from dunwell.core.events.store_endpoints import lock_endpoint, save_health
from dunwell.platform.errors import InvalidState, NotFound


async def switch_on_endpoint(work: Work, endpoint_id: UUID) -> None:
    """Raises NotFound, and InvalidState when it is on: of two who switch, the second is told."""
    work.need(Right.CONFIGURE)
    endpoint = await lock_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    health = endpoint.health
    if health.disabled_at is None:
        raise InvalidState("This endpoint is switched on already.", state="ON")
    await save_health(work.tx, work.merchant_id, endpoint_id, WELL)
    await save_audit(
        work, "endpoint.switch_on", f"endpoint:{endpoint_id}",
        before={"state": "SWITCHED_OFF", "reason": health.disabled_reason,
                "since": health.disabled_at.isoformat()},
        after={"state": "WORKING"},
    )  # fmt: skip
