"""The alarms that stand, for whoever operates the installation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.installation.alerts.alert import Alarm
from dunwell.accounts.installation.alerts.alert_settings import Alarms
from dunwell.accounts.installation.alerts.store import load_standing
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.alerts.signs_store import load_looked_at
from dunwell.platform.database.database import Connection

# Each minute somebody looks.
STALE_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AlarmsView:
    # The oldest first.
    standing: Sequence[Alarm]
    # When somebody looked last; none: never.
    looked_at: datetime | None
    # Nobody looks any more: no worker runs, or none gets that far.
    is_stale: bool
    # Nobody is named who would be told.
    is_told_nobody: bool


async def read_alarms(tx: Connection, actor: Actor, now: datetime) -> AlarmsView:
    """now: real time. Over all merchants."""
    check_right(actor, Right.OPERATE)
    looked_at = await load_looked_at(tx)
    installation = (await load_installation(tx)).installation
    return AlarmsView(
        standing=await load_standing(tx),
        looked_at=looked_at,
        is_stale=looked_at is None or now - looked_at >= STALE_AFTER,
        is_told_nobody=not (installation.alarms or Alarms()).email,
    )
