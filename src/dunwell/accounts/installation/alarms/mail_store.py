"""The SQL of the e-mails that tell operators of alarms, and users of changes to how they sign in.

Real time.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import LeasedTable
from dunwell.platform.database.sql import compose

_MAILS = LeasedTable(
    "alarm_mails", ("mail_id",), ends_at="due_at", holder=None, held_state="HANDED_OVER"
)
_SAVE = """
INSERT INTO alarm_mails (mail_id, recipient, subject, body, language, made_at, due_at)
SELECT n.mail_id, n.recipient, n.subject, n.body, n.language, $6, $6
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS n (mail_id, recipient, subject, body, language)
"""
# All by alarm_mails_due. Of what was handed over and not answered nobody knows whether it left.
_GIVE_UP = compose(
    """
UPDATE alarm_mails SET state = 'UNKNOWN', {clear}
WHERE mail_id IN (SELECT mail_id FROM alarm_mails
                  WHERE state = 'HANDED_OVER' AND {has_ended} FOR NO KEY UPDATE SKIP LOCKED)
""",
    clear=_MAILS.clear(),
    has_ended=_MAILS.has_ended("$1"),
)
_HAND_OVER = _MAILS.lease(
    "state = 'PLANNED'",
    limit="$3",
    changes="state = 'HANDED_OVER', tries = tries + 1",
    returning="leased.mail_id, recipient, subject, body, language, made_at, tries, due_at",
)
_SETTLE = compose(
    "UPDATE alarm_mails SET state = $2, {clear} WHERE mail_id = $1 AND {is_held}",
    clear=_MAILS.clear("$3"),
    is_held=_MAILS.is_held("$4"),
)
# By alarms_over and alarm_mails_made.
_SWEEP_ALARMS = """
DELETE FROM alarms WHERE alarm_id IN (SELECT alarm_id FROM alarms WHERE over_at < $1
                                      ORDER BY over_at LIMIT $2)
"""
_SWEEP_MAILS = """
DELETE FROM alarm_mails WHERE mail_id IN (SELECT mail_id FROM alarm_mails
                                          WHERE made_at < $1 ORDER BY made_at LIMIT $2)
"""


class NewMail(msgspec.Struct, frozen=True, gc=False):
    mail_id: UUID
    recipient: str
    subject: str
    body: str
    language: str


class DueMail(msgspec.Struct, frozen=True, gc=False):
    mail_id: UUID
    recipient: str
    subject: str
    body: str
    language: str
    made_at: datetime
    # This one counted.
    tries: int
    # When the lease ends.
    due_at: datetime


async def save_mails(tx: Connection, mails: Sequence[NewMail], now: datetime) -> None:
    await tx.execute(
        _SAVE, [each.mail_id for each in mails], [each.recipient for each in mails],
        [each.subject for each in mails], [each.body for each in mails],
        [each.language for each in mails], now,
    )  # fmt: skip


async def hand_over(
    tx: Connection, now: datetime, answered_by: datetime, limit: int
) -> Sequence[DueMail]:
    """Those to be called for. What is not settled by then is not sent again."""
    await tx.execute(_GIVE_UP, now)
    return [DueMail(*row) for row in await tx.fetch(_HAND_OVER, now, answered_by, limit)]


async def settle(tx: Connection, mail: DueMail, state: str, again_at: datetime | None) -> None:
    """again_at: of one that was surely not taken."""
    await tx.execute(_SETTLE, mail.mail_id, state, again_at, mail.due_at)


async def sweep(tx: Connection, before: datetime, limit: int) -> None:
    """Takes out alarms that were over before, and e-mails made before."""
    await tx.execute(_SWEEP_ALARMS, before, limit)
    await tx.execute(_SWEEP_MAILS, before, limit)
