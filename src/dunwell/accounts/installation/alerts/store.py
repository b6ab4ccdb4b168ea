"""The SQL of alerts and of the e-mails that report them, including e-mails to users about their
sign-in. All instants are real time."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.accounts.installation.alerts.alert import (
    EVENT_KINDS,
    Alert,
    AlertChanges,
    AlertCondition,
    AlertFigures,
    AlertKind,
    AlertPhase,
)
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import LeasedTable
from dunwell.platform.database.sql import compose
from dunwell.platform.ids import Ids

_REPORTS = """
LEFT JOIN LATERAL (
    SELECT count(*)::integer AS report_count, max(sent_at) AS reported_at,
           (array_agg(phase ORDER BY number DESC))[1] AS reported_phase
    FROM alert_notifications t
    WHERE t.alert_id = a.alert_id) reports ON true
"""
_COLUMNS = """
SELECT a.alert_id, a.kind, a.subject, a.figures, a.began_at, a.seen_at, a.ended_at,
       reports.report_count, reports.reported_at, reports.reported_phase
FROM alerts a
{reports}
"""
# Uses alerts_active; few alerts are active at a time.
_LIST_ACTIVE = compose(
    """
{columns}
WHERE a.ended_at IS NULL
ORDER BY a.began_at, a.alert_id
""",
    columns=compose(_COLUMNS, reports=_REPORTS),
)
# Uses alerts_active and alerts_ended. Finds the alerts that may have to be reported.
_LIST_UNREPORTED = compose(
    """
{columns}
WHERE a.ended_at IS NULL OR (a.ended_at >= $1 AND reports.reported_phase IS DISTINCT FROM 'OVER')
ORDER BY a.began_at, a.alert_id
LIMIT $2
""",
    columns=compose(_COLUMNS, reports=_REPORTS),
)
# At most one alert of a kind and subject is active (unique index alerts_active).
_INSERT_ALERTS = """
INSERT INTO alerts (alert_id, kind, subject, figures, began_at, seen_at)
SELECT n.alert_id, n.kind, n.subject, n.figures, $5, $5
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[])
    AS n (alert_id, kind, subject, figures)
ON CONFLICT (kind, subject) WHERE ended_at IS NULL DO NOTHING
"""
_UPDATE_ALERTS = """
UPDATE alerts a SET seen_at = $3, figures = n.figures
FROM unnest($1::uuid[], $2::jsonb[]) AS n (alert_id, figures)
WHERE a.alert_id = n.alert_id AND a.ended_at IS NULL
"""
# Continues the active alert of this kind and subject, if there is one (alerts_active, as above).
_UPSERT_ALERT = """
INSERT INTO alerts (alert_id, kind, subject, figures, began_at, seen_at)
VALUES ($1, $2, $3, $4, $5, $5)
ON CONFLICT (kind, subject) WHERE ended_at IS NULL
DO UPDATE SET seen_at = excluded.seen_at, figures = excluded.figures
"""
_END_ALERTS = """
UPDATE alerts SET ended_at = $2
WHERE alert_id = ANY($1::uuid[]) AND ended_at IS NULL
"""
# The alert of an event ends in the moment in which it begins. The unique index alerts_once stores
# each subject once.
_SAVE_EVENT = """
INSERT INTO alerts (alert_id, kind, subject, figures, began_at, seen_at, ended_at, is_event)
VALUES ($1, $2, $3, '{}', $4, $4, $4, true)
ON CONFLICT (kind, subject) WHERE is_event DO NOTHING
"""


async def list_active_alerts(tx: Connection) -> list[Alert]:
    """Return the active alerts, oldest first."""
    return [_build_alert(row) for row in await tx.fetch(_LIST_ACTIVE)]


async def list_reportable_alerts(tx: Connection, ended_since: datetime, limit: int) -> list[Alert]:
    """Return at most `limit` alerts, oldest first: the active ones, and those that ended at
    `ended_since` or later and whose end was not reported."""
    return [_build_alert(row) for row in await tx.fetch(_LIST_UNREPORTED, ended_since, limit)]


async def save_alert_changes(
    tx: Connection, changes: AlertChanges, now: datetime, ids: Ids
) -> None:
    if changes.began:
        await tx.execute(
            _INSERT_ALERTS, [ids.new(now) for _ in changes.began],
            [each.kind for each in changes.began],
            [each.subject for each in changes.began], _render_figures(changes.began), now,
        )  # fmt: skip
    if changes.lasting:
        figures = _render_figures(list(changes.lasting.values()))
        await tx.execute(_UPDATE_ALERTS, list(changes.lasting), figures, now)
    if changes.over:
        await tx.execute(_END_ALERTS, list(changes.over), now)


async def save_condition(
    tx: Connection, condition: AlertCondition, now: datetime, ids: Ids
) -> None:
    """Begin the alert of a condition that only one process can find, or continue the alert. It ends
    like any other alert: when this function was not called for QUIET_PERIOD. `now` is real time."""
    await tx.execute(
        _UPSERT_ALERT,
        ids.new(now),
        condition.kind,
        condition.subject,
        _render_figures([condition])[0],
        now,
    )


async def raise_alert(
    tx: Connection, kind: AlertKind, subject: str, now: datetime, ids: Ids
) -> None:
    """Record an event as an alert, in the transaction of the event.

    `kind` must be in EVENT_KINDS. `subject` identifies the occasion, such as a session id, and
    never names a person; the same subject is recorded once. `now` is real time.
    """
    assert kind in EVENT_KINDS, "only events are recorded with raise_alert"
    await tx.execute(_SAVE_EVENT, ids.new(now), kind, subject, now)


def _render_figures(conditions: Sequence[AlertCondition]) -> list[object]:
    return [msgspec.to_builtins(each.figures) for each in conditions]


def _build_alert(row: Row) -> Alert:
    return Alert(
        alert_id=row["alert_id"],
        kind=AlertKind(row["kind"]),
        subject=row["subject"],
        figures=msgspec.convert(row["figures"], AlertFigures),
        began_at=row["began_at"],
        seen_at=row["seen_at"],
        ended_at=row["ended_at"],
        report_count=row["report_count"],
        reported_at=row["reported_at"],
        reported_phase=AlertPhase(row["reported_phase"]) if row["reported_phase"] else None,
    )


_MAILS = LeasedTable(
    "staff_emails", ("email_id",), ends_at="due_at", holder=None, held_state="HANDED_OVER"
)
_INSERT_MAILS = """
INSERT INTO staff_emails (email_id, recipient, subject, body, language, created_at, due_at)
SELECT n.email_id, n.recipient, n.subject, n.body, n.language, $6, $6
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS n (email_id, recipient, subject, body, language)
"""
# Uses staff_emails_due. After a hand-over without an answer it is unknown whether the e-mail was
# sent.
_SAVE_UNKNOWN_OUTCOMES = compose(
    """
UPDATE staff_emails SET state = 'UNKNOWN', {clear}
WHERE email_id IN (SELECT email_id FROM staff_emails
                  WHERE state = 'HANDED_OVER' AND {has_ended} FOR NO KEY UPDATE SKIP LOCKED)
""",
    clear=_MAILS.clear(),
    has_ended=_MAILS.has_ended("$1"),
)
_LEASE_MAILS = _MAILS.lease(
    "state = 'PLANNED'",
    limit="$3",
    changes="state = 'HANDED_OVER', attempts = attempts + 1",
    returning="leased.email_id, recipient, subject, body, language, created_at, attempts, due_at",
)
_SAVE_MAIL_OUTCOME = compose(
    "UPDATE staff_emails SET state = $2, {clear} WHERE email_id = $1 AND {is_held}",
    clear=_MAILS.clear("$3"),
    is_held=_MAILS.is_held("$4"),
)
# Uses alerts_ended and staff_emails_created.
_SWEEP_ALERTS = """
DELETE FROM alerts WHERE alert_id IN (SELECT alert_id FROM alerts WHERE ended_at < $1
                                      ORDER BY ended_at LIMIT $2)
"""
_SWEEP_MAILS = """
DELETE FROM staff_emails WHERE email_id IN (SELECT email_id FROM staff_emails
                                          WHERE created_at < $1 ORDER BY created_at LIMIT $2)
"""


class NewStaffEmail(msgspec.Struct, frozen=True, gc=False):
    email_id: UUID
    recipient: str
    subject: str
    body: str
    language: str


class DueStaffEmail(msgspec.Struct, frozen=True, gc=False):
    email_id: UUID
    recipient: str
    subject: str
    body: str
    language: str
    created_at: datetime
    # How often the e-mail was leased, including this time.
    attempts: int
    # When the lease ends.
    due_at: datetime


async def save_staff_emails(tx: Connection, mails: Sequence[NewStaffEmail], now: datetime) -> None:
    await tx.execute(
        _INSERT_MAILS, [each.email_id for each in mails], [each.recipient for each in mails],
        [each.subject for each in mails], [each.body for each in mails],
        [each.language for each in mails], now,
    )  # fmt: skip


async def lease_staff_emails(
    tx: Connection, now: datetime, leased_until: datetime, limit: int
) -> Sequence[DueStaffEmail]:
    """Lease due e-mails until `leased_until`. An e-mail without a recorded outcome by then is not
    sent again."""
    await tx.execute(_SAVE_UNKNOWN_OUTCOMES, now)
    return [DueStaffEmail(*row) for row in await tx.fetch(_LEASE_MAILS, now, leased_until, limit)]


async def save_staff_email_outcome(
    tx: Connection, mail: DueStaffEmail, state: str, retry_at: datetime | None
) -> None:
    """Record the outcome of an attempt. `retry_at` is when to retry an e-mail that was certainly
    not accepted; None if it is not retried."""
    await tx.execute(_SAVE_MAIL_OUTCOME, mail.email_id, state, retry_at, mail.due_at)


async def sweep_alerts(tx: Connection, before: datetime, limit: int) -> None:
    """Delete alerts that ended before `before`, and e-mails that were created before it, at most
    `limit` of each."""
    await tx.execute(_SWEEP_ALERTS, before, limit)
    await tx.execute(_SWEEP_MAILS, before, limit)
