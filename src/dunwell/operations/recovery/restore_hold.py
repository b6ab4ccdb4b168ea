"""A restored installation stays on hold until a person states how much time was lost.

The restored database does not know what was sent after the backup was taken, so its worker would
send it again. The worker therefore does nothing until `dunwell restore --resume`, which pauses
every claim whose debtor may have been contacted in the lost time.
"""

import asyncio
from datetime import datetime

import msgspec
import structlog

from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.requests.store import make_all_requests_due
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.platform.database.database import Connection, DatabaseAway, NotMigrated
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources

REASON = "Restored from a backup: later events are unknown. Resume the claim if it may continue."
_POLL_SECONDS = 1.0
_FIND_HOLD = """
SELECT restored_at, taken_at FROM restores
WHERE resumed_at IS NULL
ORDER BY taken_at, restored_at
LIMIT 1
"""
# Claims with a step or a planned contact in the lost time. Sandboxes have their own clock and
# contact no debtors, so they are not included.
_LIST_AFFECTED_CLAIMS = """
SELECT c.merchant_id, c.claim_id
FROM claims c
JOIN merchants m USING (merchant_id)
WHERE NOT m.sandbox AND c.status IN ('CREATED', 'IN_PROCESS')
    AND (c.due_at <= $1 OR EXISTS (
        SELECT FROM communications o
        WHERE o.merchant_id = c.merchant_id AND o.claim_id = c.claim_id
            AND o.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND o.not_before <= $1))
ORDER BY c.merchant_id, c.claim_id
"""
# Records that the database was restored as of $1.
RECORD_RESTORE = "INSERT INTO restores (taken_at) VALUES ($1)"
_RESUME = """
UPDATE restores SET resumed_at = $1, lost_until = $2 WHERE resumed_at IS NULL
"""

log = structlog.get_logger(__name__)


class RestoreHold(msgspec.Struct, frozen=True, gc=False):
    """A restore that has not been resumed yet."""

    restored_at: datetime
    taken_at: datetime


async def find_hold(connection: Connection) -> RestoreHold | None:
    """Return the oldest restore that is not resumed yet, or None."""
    row = await connection.fetchrow(_FIND_HOLD)
    return None if row is None else RestoreHold(*row)


async def hold_installation(resources: Resources, taken_at: datetime) -> None:
    """Put an installation on hold that was restored by other means as of `taken_at`. The worker
    must be stopped."""
    async with resources.database.connection() as connection:
        await connection.execute(RECORD_RESTORE, taken_at)


async def wait_until_resumed(resources: Resources, stop: asyncio.Event) -> None:
    """Wait until nothing is on hold, or until `stop` is set. If the database does not answer, or
    does not have the table yet, ask again."""
    is_logged = False
    while not stop.is_set():
        try:
            async with resources.database.connection() as connection:
                hold = await find_hold(connection)
        except (DatabaseAway, NotMigrated):
            hold = None
        else:
            if hold is None:
                return
        if hold is not None and not is_logged:
            is_logged = True
            log.warning("held after a restore: dunwell restore --resume")
        try:
            await asyncio.wait_for(stop.wait(), _POLL_SECONDS)
        except TimeoutError:
            continue


async def resume_installation(resources: Resources, lost_until: datetime) -> int:
    """Pause the claims whose debtors may have been contacted before `lost_until`, resume the
    worker, and return the number of paused claims. After an interruption, call this again. Raises
    InvalidState."""
    async with resources.database.connection() as connection:
        hold = await find_hold(connection)
        if hold is None:
            raise InvalidState("The installation is not on hold after a restore.")
        # Compare whole seconds, because an operator enters no fractions.
        if not hold.taken_at.replace(microsecond=0) <= lost_until <= resources.clock.now():
            raise InvalidState(
                f"The backup was taken at {hold.taken_at.isoformat()}. The end of the lost time "
                f"must be between that and now, but {lost_until.isoformat()} is not."
            )
        affected = await connection.fetch(_LIST_AFFECTED_CLAIMS, lost_until)
    for merchant_id, claim_id in affected:
        async with resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            assert merchant is not None, "it has this claim"
            actor = COMMAND_LINE
            await pause_claim(Work.open(resources, tx, merchant, actor), claim_id, reason=REASON)
    async with resources.database.transaction() as tx:
        await tx.execute(_RESUME, resources.clock.now(), lost_until)
        # Payment providers know of refunds and chargebacks in the lost time, so all payment
        # requests are checked again.
        await make_all_requests_due(tx, resources.clock.now())
        action = InstallationAction(
            actor_kind="OPERATOR",
            actor_id=COMMAND_LINE.actor_id,
            action="restore.resume",
            subject="installation",
            after={"lostUntil": lost_until.isoformat(), "paused": len(affected)},
            origin=COMMAND_LINE.origin_json,
        )
        await save_installation_audit(tx, action, resources.clock.now(), resources.ids)
    return len(affected)
