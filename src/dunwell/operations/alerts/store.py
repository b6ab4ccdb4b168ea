"""The SQL of alert checks over all merchants: observations, backlog counts, and reported alerts."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from dunwell.core.events.webhooks.endpoint import NOTIFY_AFTER
from dunwell.operations.alerts.alert_conditions import MerchantCount, Observations, ProviderCount
from dunwell.operations.alerts.alert_emails import AlertNotification
from dunwell.platform.database.database import Connection

# Uses claims_due_anywhere and reads at most $2 rows.
_COUNT_STEPS = """
SELECT count(*) AS number, min(due.due_at) AS oldest
FROM (
    SELECT c.due_at
    FROM claims c
    JOIN merchants m ON m.merchant_id = c.merchant_id AND NOT m.sandbox
    WHERE c.due_at <= $1 AND NOT c.held
    ORDER BY c.due_at
    LIMIT $2) due
"""
# Uses communications_planned_anywhere, communications_handed_over_anywhere, communications_unknown
# and debtor_notices_due, and reads at most $2 rows of each. A planned message counts for the
# provider that its channel uses now; only a message that was handed over has its provider recorded.
_COUNT_MESSAGES = """
SELECT coalesce(found.provider, m.configuration -> 'channels' -> found.channel ->> 'provider')
    AS provider,
       found.state, count(*) AS number
FROM (
    (SELECT c.merchant_id, c.channel, NULL::text AS provider,
            CASE WHEN c.lease_until > $1 THEN 'leased' ELSE 'planned' END AS state
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state IN ('PLANNED', 'ATTACHMENT_MISSING')
     ORDER BY c.not_before
     LIMIT $2)
    UNION ALL
    (SELECT c.merchant_id, c.channel, NULL, 'leased'
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state = 'HANDED_OVER'
     ORDER BY c.lease_until
     LIMIT $2)
    UNION ALL
    (SELECT c.merchant_id, c.channel, c.provider, 'unknown'
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state = 'UNKNOWN'
     ORDER BY c.merchant_id, c.communication_id
     LIMIT $2)
    UNION ALL
    (SELECT n.merchant_id, n.channel, NULL,
            CASE n.state WHEN 'HANDED_OVER' THEN 'leased' ELSE 'planned' END
     FROM debtor_notices n
     JOIN merchants live ON live.merchant_id = n.merchant_id AND NOT live.sandbox
     WHERE n.due_at IS NOT NULL
     ORDER BY n.due_at
     LIMIT $2)) found
JOIN merchants m ON m.merchant_id = found.merchant_id
GROUP BY 1, 2
"""


class DueSteps(msgspec.Struct, frozen=True, gc=False):
    count: int
    # When the oldest of these steps fell due. None if no step is due.
    oldest: datetime | None


class MessageCount(msgspec.Struct, frozen=True, gc=False):
    # The delivery provider. None if the channel has none.
    provider: str | None
    # One of planned, leased and unknown.
    state: str
    count: int


async def count_due_steps(connection: Connection, now: datetime, limit: int) -> DueSteps:
    """Count the due steps, oldest first, up to `limit`."""
    return DueSteps(*await connection.fetchrow(_COUNT_STEPS, now, limit))


async def count_messages(
    connection: Connection, now: datetime, limit: int
) -> Sequence[MessageCount]:
    """Count planned, leased and unknown messages, up to `limit` of each. Notices to debtors, such
    as codes, are included; the same limit applies to them separately."""
    return [MessageCount(*row) for row in await connection.fetch(_COUNT_MESSAGES, now, limit)]


# The longest delay between two attempts to send a contact, as in
# `contact.escalation.contacts.outcomes.settlement`.
_MAX_PAUSE = timedelta(hours=6)
_MAX_COUNTED = 10_001
# A contact with three or more attempts counts as waiting since it was planned, because each attempt
# moves its next one. Uses communications_planned_anywhere. Contacts of claims on hold do not count.
_COUNT_WAITING = """
SELECT named.provider, count(*)::integer AS count, min(late.since) AS since
FROM (
    SELECT c.merchant_id, c.channel,
           CASE WHEN c.attempts >= 3 THEN c.planned_at ELSE c.not_before END AS since
    FROM communications c
    WHERE c.state = 'PLANNED' AND c.not_before <= $2
      AND CASE WHEN c.attempts >= 3 THEN c.planned_at ELSE c.not_before END <= $1
      AND EXISTS (SELECT FROM claims k WHERE k.merchant_id = c.merchant_id
                    AND k.claim_id = c.claim_id AND NOT k.held
                    AND k.status IN ('CREATED', 'IN_PROCESS'))
    ORDER BY c.not_before
    LIMIT $3) late
JOIN merchants m ON m.merchant_id = late.merchant_id AND NOT m.sandbox
CROSS JOIN LATERAL (
    SELECT m.configuration -> 'channels' -> late.channel ->> 'provider' AS provider) named
WHERE named.provider IS NOT NULL
GROUP BY named.provider
"""
# Uses letter_batch_items_waiting.
_COUNT_BATCHES = """
SELECT provider, count(*)::integer AS count, min(handed_at) AS since
FROM letter_batch_items WHERE state = 'WAITING' GROUP BY provider
"""
_LIST_MAILBOXES = "SELECT provider, read_at FROM mailbox_positions"
# Uses communications_unknown, which holds no other rows.
_COUNT_UNKNOWN = """
SELECT m.merchant_id, m.key, count(*)::integer AS count, min(c.handed_over_at) AS since
FROM communications c
JOIN merchants m ON m.merchant_id = c.merchant_id AND NOT m.sandbox
WHERE c.state = 'UNKNOWN' AND c.handed_over_at <= $1
GROUP BY m.merchant_id, m.key
"""
# Uses disputes_overdue_reported.
_COUNT_OVERDUE = """
SELECT m.merchant_id, m.key, count(*)::integer AS count, min(d.overdue_reported_at) AS since
FROM disputes d
JOIN merchants m ON m.merchant_id = d.merchant_id AND NOT m.sandbox
WHERE d.state = 'OPEN' AND d.overdue_reported_at <= $1
GROUP BY m.merchant_id, m.key
"""
# Uses debtor_replies_unread.
_COUNT_UNSEEN = """
SELECT m.merchant_id, m.key, count(*)::integer AS count, min(r.received_at) AS since
FROM debtor_replies r
JOIN merchants m ON m.merchant_id = r.merchant_id AND NOT m.sandbox
WHERE r.read_at IS NULL AND NOT r.is_automatic AND r.received_at <= $1
GROUP BY m.merchant_id, m.key
"""
# Uses webhook_endpoints_off.
_COUNT_DISABLED = """
SELECT m.merchant_id, m.key, count(*)::integer AS count, min(e.disabled_at) AS since
FROM webhook_endpoints e
JOIN merchants m ON m.merchant_id = e.merchant_id AND NOT m.sandbox
WHERE e.disabled_at <= $1 AND e.removed_at IS NULL
GROUP BY m.merchant_id, m.key
"""
# Uses webhook_endpoints_failing.
_COUNT_FAILING = """
SELECT m.merchant_id, m.key, count(*)::integer AS count, min(e.first_failure_at) AS since
FROM webhook_endpoints e
JOIN merchants m ON m.merchant_id = e.merchant_id AND NOT m.sandbox
WHERE e.first_failure_at <= $1 AND e.removed_at IS NULL
GROUP BY m.merchant_id, m.key
"""
# This statement and the next one count what was received since $1 and not yet viewed. They use
# inbound_sms_unmatched and delivery_reports_unmatched.
_COUNT_UNMATCHED_SMS = """
SELECT provider, count(*)::integer AS count, min(received_at) AS since
FROM inbound_sms
WHERE kind = 'UNMATCHED' AND read_at IS NULL AND received_at > $1
GROUP BY provider
"""
_COUNT_UNMATCHED_REPORTS = """
SELECT provider, count(*)::integer AS count, min(received_at) AS since
FROM delivery_reports
WHERE outcome = 'UNMATCHED' AND read_at IS NULL AND received_at > $1
GROUP BY provider
"""
# The oldest step that is late. Uses claims_due_anywhere.
_FIND_LATE_STEP = """
SELECT c.due_at
FROM claims c
JOIN merchants m ON m.merchant_id = c.merchant_id AND NOT m.sandbox
WHERE c.due_at <= $1 AND NOT c.held
ORDER BY c.due_at
LIMIT 1
"""
# The worker that checks locks this row. Other workers wait, and then find that alerts have just
# been checked.
_LOCK_CHECK = """
INSERT INTO alert_checks AS w (watch, checked_at) VALUES (1, $1)
ON CONFLICT (watch) DO UPDATE SET checked_at = excluded.checked_at
-- A time in the future comes from a wrong clock, and must not prevent further checks.
WHERE w.checked_at <= $2 OR w.checked_at > $1 + interval '1 minute'
RETURNING true
"""
_FIND_LAST_CHECK = "SELECT checked_at FROM alert_checks WHERE watch = 1"
# Each notification is stored once: the primary key ensures this, and for the end of an alert the
# index alert_notifications_ended.
_SAVE_NOTIFICATIONS = """
INSERT INTO alert_notifications (alert_id, number, phase, sent_at)
SELECT n.alert_id, n.number, n.phase, $4
FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS n (alert_id, number, phase)
"""


async def load_observations(
    tx: Connection, now: datetime, *, late_before: datetime, unseen_before: datetime,
    unmatched_since: datetime,
) -> Observations:  # fmt: skip
    """Load what was observed. `late_before` and `unseen_before` limit the result to what has waited
    long enough; unmatched delivery reports and SMS are counted since `unmatched_since`."""
    waiting = await tx.fetch(_COUNT_WAITING, late_before, now + _MAX_PAUSE, _MAX_COUNTED)
    return Observations(
        waiting=[ProviderCount(*row) for row in waiting],
        batches=[ProviderCount(*row) for row in await tx.fetch(_COUNT_BATCHES)],
        mailboxes=[(row["provider"], row["read_at"]) for row in await tx.fetch(_LIST_MAILBOXES)],
        unknown=[MerchantCount(*row) for row in await tx.fetch(_COUNT_UNKNOWN, unseen_before)],
        overdue=[MerchantCount(*row) for row in await tx.fetch(_COUNT_OVERDUE, unseen_before)],
        unseen=[MerchantCount(*row) for row in await tx.fetch(_COUNT_UNSEEN, unseen_before)],
        off=[MerchantCount(*row) for row in await tx.fetch(_COUNT_DISABLED, now)],
        failing=[MerchantCount(*row) for row in await tx.fetch(_COUNT_FAILING, now - NOTIFY_AFTER)],
        unmatched_sms=[
            ProviderCount(*row) for row in await tx.fetch(_COUNT_UNMATCHED_SMS, unmatched_since)
        ],
        unmatched_reports=[
            ProviderCount(*row) for row in await tx.fetch(_COUNT_UNMATCHED_REPORTS, unmatched_since)
        ],
        step_due_at=await tx.fetchval(_FIND_LATE_STEP, late_before),
    )


async def lock_alert_check(tx: Connection, now: datetime, last_before: datetime) -> bool:
    """Record a check at `now` and lock it until the transaction ends. Return False if another
    worker has checked since `last_before`."""
    return bool(await tx.fetchval(_LOCK_CHECK, now, last_before))


async def find_last_check(tx: Connection) -> datetime | None:
    """Find when alerts were last checked. Return None if they never were."""
    checked_at: datetime | None = await tx.fetchval(_FIND_LAST_CHECK)
    return checked_at


async def insert_notifications(
    tx: Connection, notifications: Sequence[AlertNotification], now: datetime
) -> None:
    await tx.execute(
        _SAVE_NOTIFICATIONS, [each.alert.alert_id for each in notifications],
        [each.alert.report_count + 1 for each in notifications],
        [each.phase for each in notifications], now,
    )  # fmt: skip
