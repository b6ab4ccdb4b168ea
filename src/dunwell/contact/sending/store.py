"""The SQL of delivery reports and received SMS, including those that match no message, and of
providers' send rates."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.report import FailureCause, Reference, Report, ReportState
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose, split_into_groups
from dunwell.platform.ids import Ids

# $13 is the real time. A report that was stored before is skipped. The rows are sorted, so that two
# transactions with the same reports cannot deadlock.
_SAVE_REPORTS = """
INSERT INTO delivery_reports
    (report_id, provider, provider_message_id, state, happened_at, merchant_id, communication_id,
        reason, cause,
     destination, raw, is_authenticated, received_at, due_at)
SELECT report.*, $13::timestamptz, $13::timestamptz
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[],
    $7::uuid[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::boolean[]
) AS report (report_id, provider, provider_message_id, state, happened_at, merchant_id,
    communication_id,
    reason, cause, destination, raw, is_authenticated)
ORDER BY provider, provider_message_id, state, happened_at
ON CONFLICT ON CONSTRAINT delivery_reports_once DO NOTHING
RETURNING report_id
"""
# Uses delivery_reports_of_message.
_COUNT_BY_MESSAGE = """
SELECT merchant_id, communication_id, count(*) AS reports
FROM delivery_reports
WHERE (merchant_id, communication_id) IN (SELECT * FROM unnest($1::integer[], $2::uuid[]))
GROUP BY merchant_id, communication_id
"""
# Uses delivery_reports_unmatched, and delivery_reports_due for reports that were not processed yet.
_COUNT_UNMATCHED = """
SELECT (SELECT count(*) FROM (SELECT FROM delivery_reports
                              WHERE outcome = 'UNMATCHED' AND received_at > $1 LIMIT $2) unmatched)
     + (SELECT count(*) FROM (SELECT FROM delivery_reports
                              WHERE due_at IS NOT NULL AND communication_id IS NULL
                              LIMIT $2) waiting)
"""
# Uses delivery_reports_due.
_LOCK_DUE = """
SELECT report_id, provider, merchant_id, communication_id, state, reason, cause, received_at,
    is_authenticated
FROM delivery_reports
WHERE due_at <= $1
ORDER BY due_at
LIMIT $2
FOR UPDATE SKIP LOCKED
"""
_SAVE_OUTCOME = """
UPDATE delivery_reports SET due_at = $2, outcome = $3, handled_at = $4 WHERE report_id = $1
"""
_SAVE_OUTCOMES = """
UPDATE delivery_reports r SET due_at = $3, outcome = n.outcome, handled_at = $4
FROM unnest($1::uuid[], $2::text[]) AS n (report_id, outcome)
WHERE r.report_id = n.report_id
"""
_SWEEP_REPORTS = """
DELETE FROM delivery_reports
WHERE report_id IN (SELECT report_id FROM delivery_reports
                    WHERE received_at < $1 AND due_at IS NULL
                    ORDER BY received_at LIMIT $2)
"""


class WaitingReport(msgspec.Struct, frozen=True, gc=False):
    """A report that has to be processed. `reference` is None if the report names no message."""

    report_id: UUID
    provider: str
    reference: Reference | None
    state: ReportState
    reason: str
    cause: FailureCause
    received_at: datetime
    is_authenticated: bool


async def save_report(tx: Connection, report: Report, *, real_now: datetime, ids: Ids) -> bool:
    """Save a report and return whether it is new. Confirm it to the provider only after the
    commit."""
    return await save_reports(tx, [report], real_now=real_now, ids=ids) == 1


async def save_reports(
    tx: Connection, reports: Sequence[Report], *, real_now: datetime, ids: Ids
) -> int:
    """Save reports and return how many are new."""
    return sum([await _save_set(tx, each, real_now, ids) for each in split_into_groups(reports)])


async def _save_set(tx: Connection, reports: Sequence[Report], real_now: datetime, ids: Ids) -> int:
    references = [each.reference for each in reports]
    saved = await tx.fetch(
        _SAVE_REPORTS,
        [ids.new(real_now) for _ in reports],
        [each.provider for each in reports],
        [each.provider_message_id for each in reports],
        [each.state for each in reports],
        [each.happened_at for each in reports],
        [each and each.merchant_id for each in references],
        [each and each.communication_id for each in references],
        [each.reason for each in reports],
        [each.cause for each in reports],
        [each.destination for each in reports],
        [each.raw for each in reports],
        [each.is_authenticated for each in reports],
        real_now,
    )
    return len(saved)


async def count_reports(tx: Connection, references: Collection[Reference]) -> Counter[Reference]:
    """Count the reports on each of these messages."""
    merchant_ids = [each.merchant_id for each in references]
    communication_ids = [each.communication_id for each in references]
    rows = await tx.fetch(_COUNT_BY_MESSAGE, merchant_ids, communication_ids)
    return Counter(
        {Reference(row["merchant_id"], row["communication_id"]): row["reports"] for row in rows}
    )


async def count_unmatched_reports(tx: Connection, since: datetime, limit: int) -> int:
    """Count the reports that name no known message: those that matched none since an instant, and
    those that were not processed yet. Each of the two is counted up to `limit`."""
    count: int = await tx.fetchval(_COUNT_UNMATCHED, since, limit)
    return count


async def lock_due_reports(
    tx: Connection, real_now: datetime, limit: int
) -> Sequence[WaitingReport]:
    """Lock due reports. Reports locked by others are skipped."""
    return [
        WaitingReport(
            report_id=row["report_id"],
            provider=row["provider"],
            reference=(
                None
                if row["merchant_id"] is None
                else Reference(row["merchant_id"], row["communication_id"])
            ),
            state=row["state"],
            reason=row["reason"],
            cause=row["cause"],
            received_at=row["received_at"],
            is_authenticated=row["is_authenticated"],
        )
        for row in await tx.fetch(_LOCK_DUE, real_now, limit)
    ]


async def save_report_outcome(
    tx: Connection, report_id: UUID, outcome: str, *, real_now: datetime, due_at: datetime | None
) -> None:
    """Record the outcome of a report.

    `due_at` is when the report is processed again; None if the outcome is final.
    """
    handled_at = real_now if due_at is None else None
    await tx.execute(_SAVE_OUTCOME, report_id, due_at, outcome, handled_at)


async def save_report_outcomes(
    tx: Connection, settled: Sequence[tuple[WaitingReport, str]], *, real_now: datetime,
    due_at: datetime | None = None,
) -> None:  # fmt: skip
    """Record the outcomes of several reports."""
    if settled:
        ids = [each.report_id for each, _ in settled]
        outcomes = [outcome for _, outcome in settled]
        handled_at = real_now if due_at is None else None
        await tx.execute(_SAVE_OUTCOMES, ids, outcomes, due_at, handled_at)


async def sweep_reports(tx: Connection, before: datetime, limit: int) -> int:
    """Delete old reports that have a final outcome, and return their number."""
    return int((await tx.execute(_SWEEP_REPORTS, before, limit)).split()[-1])


# Selects debtors with the number $2 to whom provider $1 has sent an SMS: a contact, or a notice
# whose address was erased since.
_WAS_SENT_SMS = """d.mobile_number = $2 AND (
    EXISTS (SELECT FROM communications c
            WHERE c.merchant_id = d.merchant_id AND c.claim_id = d.claim_id
              AND c.channel = 'SMS' AND c.provider = $1 AND c.handed_over_at IS NOT NULL)
    OR EXISTS (SELECT FROM debtor_notices n
               WHERE n.merchant_id = d.merchant_id AND n.claim_id = d.claim_id
                 AND n.channel = 'SMS' AND n.provider = $1 AND n.recipient IS NULL))"""
# Selects notices that provider $1 has sent to the number $2, which need not be the number on file,
# because the debtor may have typed another one.
_IS_NOTICE_TO_NUMBER = "n.recipient = $2 AND n.channel = 'SMS' AND n.provider = $1"
# Uses debtors_mobile_number for each merchant, the keys of a claim's contacts and notices, and
# debtor_notices_by_sms. Stops at $3 claims.
_FIND_CLAIMS = compose(
    """
(SELECT d.merchant_id, d.claim_id
 FROM merchants m
 JOIN debtors d ON d.merchant_id = m.merchant_id AND {was_sent_sms}
 LIMIT $3)
UNION
SELECT n.merchant_id, n.claim_id FROM debtor_notices n WHERE {is_notice_to_number}
LIMIT $3
""",
    was_sent_sms=_WAS_SENT_SMS,
    is_notice_to_number=_IS_NOTICE_TO_NUMBER,
)
# Uses the same indexes. Looks for only one claim of each merchant.
_LIST_MERCHANTS = compose(
    """
SELECT m.merchant_id
FROM merchants m
WHERE m.merchant_id > $3
  AND (EXISTS (SELECT FROM debtors d WHERE d.merchant_id = m.merchant_id AND {was_sent_sms})
       OR m.merchant_id IN (SELECT n.merchant_id FROM debtor_notices n WHERE {is_notice_to_number}))
ORDER BY m.merchant_id
LIMIT $4
""",
    was_sent_sms=_WAS_SENT_SMS,
    is_notice_to_number=_IS_NOTICE_TO_NUMBER,
)
_IS_KNOWN = """
SELECT EXISTS (SELECT FROM inbound_sms
WHERE provider = $1 AND provider_message_id = $2)
"""
_SAVE_INCOMING = """
INSERT INTO inbound_sms
    (inbound_id, provider, provider_message_id, sender, recipient, text, received_at, kind,
        merchant_id,
     claim_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT ON CONSTRAINT inbound_sms_once DO NOTHING
RETURNING inbound_id
"""
# Uses inbound_sms_received.
_SWEEP_INCOMING = """
DELETE FROM inbound_sms
WHERE inbound_id IN (SELECT inbound_id FROM inbound_sms WHERE received_at < $1
                     ORDER BY received_at LIMIT $2)
"""
# Two claims are enough to know that the number does not belong to a single claim.
_CLAIM_LIMIT = 2


class ContactedClaim(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    claim_id: int


async def find_claim_of_number(tx: Connection, provider: str, number: str) -> ContactedClaim | None:
    """Return the claim whose debtor got an SMS at this number from this provider, over all
    merchants. Return None if there is none or more than one."""
    rows = await tx.fetch(_FIND_CLAIMS, provider, number, _CLAIM_LIMIT)
    return ContactedClaim(*rows[0]) if len(rows) == 1 else None


async def list_merchants_of_number(
    tx: Connection, provider: str, number: str, *, after: int, limit: int
) -> Sequence[int]:
    """List merchants that sent an SMS to this number through this provider, in order of id, after
    the merchant `after`."""
    rows = await tx.fetch(_LIST_MERCHANTS, provider, number, after, limit)
    return [row["merchant_id"] for row in rows]


async def is_sms_known(tx: Connection, incoming: ReceivedSms) -> bool:
    return bool(await tx.fetchval(_IS_KNOWN, incoming.provider, incoming.provider_message_id))


async def save_sms(
    tx: Connection, inbound_id: UUID, incoming: ReceivedSms, kind: str,
    claim: ContactedClaim | None,
    *, real_now: datetime,
) -> bool:  # fmt: skip
    """Save the message and return whether it is new."""
    saved = await tx.fetchval(
        _SAVE_INCOMING, inbound_id, incoming.provider, incoming.provider_message_id,
        incoming.sender,
        incoming.recipient, incoming.text, real_now, kind,
        claim.merchant_id if claim else None, claim.claim_id if claim else None,
    )  # fmt: skip
    return saved is not None


async def sweep_sms(tx: Connection, before: datetime, limit: int) -> int:
    """Delete old messages and return their number."""
    return int((await tx.execute(_SWEEP_INCOMING, before, limit)).split()[-1])


UnmatchedKind = Literal["sms", "reports"]


# Uses the primary key.
_LOAD_ENTRIES: Mapping[UnmatchedKind, str] = {
    "sms": """
SELECT inbound_id, provider, received_at, sender, recipient, text
FROM inbound_sms
WHERE inbound_id = ANY($1::uuid[])
""",
    "reports": """
SELECT report_id, provider, received_at, state, provider_message_id, reason
FROM delivery_reports
WHERE report_id = ANY($1::uuid[])
""",
}
# Uses the primary key. If two operators mark an entry at the same time, one of them gets False.
_MARK_SEEN: Mapping[UnmatchedKind, str] = {
    "sms": """
UPDATE inbound_sms SET read_at = $2, read_by = $3
WHERE inbound_id = $1 AND kind = 'UNMATCHED' AND read_at IS NULL
RETURNING inbound_id
""",
    "reports": """
UPDATE delivery_reports SET read_at = $2, read_by = $3
WHERE report_id = $1 AND outcome = 'UNMATCHED' AND read_at IS NULL
RETURNING report_id
""",
}


class UnmatchedEntry(msgspec.Struct, frozen=True, gc=False):
    """An SMS or a report that matches no message, as an operator sees it."""

    key: UUID
    provider: str
    received_at: datetime
    # The sender of the SMS, or the state of the report (`ReportState`).
    sender_or_state: str
    # Our number, or the provider's id of the message.
    recipient_or_message_id: str
    # The text of the SMS, or the reason in the report.
    text: str


async def load_unmatched_entries(
    kind: UnmatchedKind, tx: Connection, keys: Sequence[UUID]
) -> Mapping[UUID, UnmatchedEntry]:
    """Load entries by id."""
    rows = await tx.fetch(_LOAD_ENTRIES[kind], list(keys))
    return {row[0]: UnmatchedEntry(*row) for row in rows}


async def save_entry_seen(
    tx: Connection, kind: UnmatchedKind, key: UUID, *, read_by: str | None, real_now: datetime
) -> bool:
    """Mark an entry as seen. Return False if it does not exist or was marked before."""
    return await tx.fetchval(_MARK_SEEN[kind], key, real_now, read_by) is not None


# `available_at` is the time from which further messages may be sent. Returns how many fit into the
# next second at the rate of $3 messages a second. The row stays locked until the end of the
# transaction, so that workers share the send rate.
_LOCK_SEND_RATE = """
INSERT INTO provider_rate_limits (provider, available_at) VALUES ($1, $2)
ON CONFLICT (provider) DO UPDATE SET available_at = greatest(provider_rate_limits.available_at, $2)
RETURNING greatest(0, floor(extract(epoch
FROM $2 + interval '1 second' - available_at) * $3))::integer
"""
_SAVE_USED_RATE = """
UPDATE provider_rate_limits SET available_at = available_at + $2 * interval '1 second'
WHERE provider = $1
"""


async def lock_send_rate(
    tx: Connection, provider: str, per_second: float, real_now: datetime
) -> int:
    """Return how many messages the provider accepts now, and lock its send rate."""
    room: int = await tx.fetchval(_LOCK_SEND_RATE, provider, real_now, per_second)
    return room


async def save_used_rate(tx: Connection, provider: str, per_second: float, messages: int) -> None:
    """Record the messages given to a provider whose send rate is locked."""
    await tx.execute(_SAVE_USED_RATE, provider, messages / per_second)
