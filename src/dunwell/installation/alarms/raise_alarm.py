"""Raises an alarm of something that has happened, in the transaction of what has: one line for
whoever sees it.
"""

from datetime import datetime

from dunwell.installation.alarms.alarm import EVENTS, Kind, Sign
from dunwell.installation.alarms.store import save_event
from dunwell.kit.db import Connection
from dunwell.kit.ids import Ids


async def raise_alarm(tx: Connection, kind: Kind, subject: str, now: datetime, ids: Ids) -> None:
    """kind: an event's. subject: what tells one occasion from another, such as a session's id; no
    name of anybody. now: real time. The same subject raises it once."""
    assert kind in EVENTS, "what lasts is looked for, and not raised"
    await save_event(tx, Sign(kind, subject), now, ids)
