"""The SQL of tries: links visitors asked for, wrong facts and sent codes of claims. Rows in, values
out, no rules."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.entering.tries import Tries
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import nest

# Tries of one visitor take turns, so that many at once are counted as if one by one.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))"
# By primary key.
_LOAD_VISITORS = """
SELECT coalesce(sum(requests), 0)::integer AS visitors, min(window_start) AS first_at
FROM code_attempts
WHERE visitor_digest = $1 AND window_start > $2
"""
_SAVE_VISITORS = """
INSERT INTO code_attempts AS known (visitor_digest, window_start, requests)
VALUES ($1, $2, 1)
ON CONFLICT (visitor_digest, window_start) DO UPDATE SET requests = known.requests + 1
"""
# Whoever counts one more waits until those before are there to be seen, or are given up.
_TAKE_EVERYBODYS_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('wrong codes', 2))"
# By primary key; the table holds some twenty minutes, a row for each.
_COUNT_EVERYBODYS = """
WITH this AS (
    INSERT INTO wrong_codes AS known (minute, count)
    VALUES ($1, 1)
    ON CONFLICT (minute) DO UPDATE SET count = known.count + 1
    RETURNING minute, count
)
SELECT (this.count + coalesce(sum(other.count), 0))::integer
FROM this LEFT JOIN wrong_codes other ON other.minute > $2 AND other.minute <> this.minute
GROUP BY this.count
"""
_REMOVE_EVERYBODYS = "DELETE FROM wrong_codes WHERE minute < $1"
_REMOVE_VISITORS = "DELETE FROM code_attempts WHERE window_start < $1"
# By primary key, as those below; what is there is locked as it is.
_LOCK_TRIES = """
INSERT INTO debtor_fact_tries AS known (merchant_id, claim_id, failures, first_at)
VALUES ($1, $2, 0, $3)
ON CONFLICT (merchant_id, claim_id) DO UPDATE SET failures = known.failures
RETURNING failures, first_at, locked_until, day_failures, day_first_at
"""
_SAVE_TRIES = """
UPDATE debtor_fact_tries
SET failures = $3, first_at = $4, locked_until = $5, day_failures = $6, day_first_at = $7
WHERE merchant_id = $1 AND claim_id = $2
"""
_REMOVE_TRIES = "DELETE FROM debtor_fact_tries WHERE merchant_id = $1 AND claim_id = $2"
_SAVE_SENT = """
INSERT INTO debtor_sent_codes (merchant_id, claim_id, notice_id, expires_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (merchant_id, claim_id) DO UPDATE
SET notice_id = excluded.notice_id, expires_at = excluded.expires_at, failures = 0,
    used_at = NULL
"""
# Of the claim's newest code.
_LOAD_DELIVERY = """
SELECT notice.state = 'FAILED' AS is_undelivered
FROM debtor_sent_codes code
JOIN debtor_notices notice USING (merchant_id, notice_id)
WHERE code.merchant_id = $1 AND code.claim_id = $2
"""
_LOCK_SENT = """
SELECT code.notice_id, code.expires_at, code.failures, code.used_at, notice.key_version,
       notice.channel, notice.recipient
FROM debtor_sent_codes code
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = code.merchant_id AND notice.notice_id = code.notice_id
WHERE code.merchant_id = $1 AND code.claim_id = $2
FOR UPDATE OF code
"""
_SAVE_SENT_WRONG = """
UPDATE debtor_sent_codes SET failures = failures + 1 WHERE merchant_id = $1 AND claim_id = $2
"""
_SAVE_SENT_USED = """
UPDATE debtor_sent_codes SET used_at = $3 WHERE merchant_id = $1 AND claim_id = $2
"""
# Whether the newest code to the address on file was reported not to arrive; null: none was sent.
UNDELIVERED: Detail[bool | None] = Detail(nest(_LOAD_DELIVERY, *KEY), bool | None)


@dataclass(frozen=True, slots=True)
class VisitorTries:
    """Of the time looked at: what the visitor asked for, and when first."""

    visitors: int
    first_at: datetime | None


@dataclass(frozen=True, slots=True)
class SentCode:
    notice_id: UUID
    expires_at: datetime
    failures: int
    used_at: datetime | None
    # Of the secret key: what the code was derived with.
    key_version: int | None
    # Where it went.
    channel: NoticeChannel | None
    recipient: str | None


async def load_visitor_tries(tx: Connection, visitor: bytes, since: datetime) -> VisitorTries:
    """Waits until other tries of this visitor are done."""
    await tx.execute(_TAKE_TURN, visitor)
    return VisitorTries(**await tx.fetchrow(_LOAD_VISITORS, visitor, since))


async def save_visitors_request(tx: Connection, visitor: bytes, minute: datetime) -> None:
    await tx.execute(_SAVE_VISITORS, visitor, minute)


async def count_everybodys_wrong(tx: Connection, minute: datetime, since: datetime) -> int:
    """With one more; waits until others who count are done. No two are told the same number while
    none grows too old."""
    await tx.execute(_TAKE_EVERYBODYS_TURN)
    count: int = await tx.fetchval(_COUNT_EVERYBODYS, minute, since)
    return count


async def remove_visitor_tries(tx: Connection, before: datetime) -> int:
    """Whole minutes of visitors and of everybody; how many."""
    tags = [
        await tx.execute(statement, before) for statement in (_REMOVE_VISITORS, _REMOVE_EVERYBODYS)
    ]
    return sum(int(tag.rpartition(" ")[2]) for tag in tags)


async def lock_tries(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> Tries:
    """Waits until other tries of this claim are done."""
    return Tries(**await tx.fetchrow(_LOCK_TRIES, merchant_id, claim_id, now))


async def save_tries(tx: Connection, merchant_id: int, claim_id: int, tries: Tries) -> None:
    await tx.execute(
        _SAVE_TRIES, merchant_id, claim_id, tries.failures, tries.first_at, tries.locked_until,
        tries.day_failures, tries.day_first_at,
    )  # fmt: skip


async def remove_tries(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_REMOVE_TRIES, merchant_id, claim_id)


async def save_sent_code(
    tx: Connection, merchant_id: int, claim_id: int, notice_id: UUID, expires_at: datetime
) -> None:
    """In place of the one before."""
    await tx.execute(_SAVE_SENT, merchant_id, claim_id, notice_id, expires_at)


async def is_undelivered(tx: Connection, merchant_id: int, claim_id: int) -> bool:
    """Whether the claim's newest code was reported not to arrive."""
    return bool(await tx.fetchval(_LOAD_DELIVERY, merchant_id, claim_id))


async def lock_sent_code(tx: Connection, merchant_id: int, claim_id: int) -> SentCode | None:
    row = await tx.fetchrow(_LOCK_SENT, merchant_id, claim_id)
    return None if row is None else SentCode(**row)


async def save_sent_codes_wrong(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_SAVE_SENT_WRONG, merchant_id, claim_id)


async def save_sent_code_used(
    tx: Connection, merchant_id: int, claim_id: int, now: datetime
) -> None:
    await tx.execute(_SAVE_SENT_USED, merchant_id, claim_id, now)
