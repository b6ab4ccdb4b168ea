"""The SQL of occasions for notices. Contains no rules. All instants are real time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

import msgspec

from dunwell.contact.notices.notice import NoticeChannel, NoticeState
from dunwell.contact.notices.occasions.facts import OCCASIONS, LetterFacts, OccasionFacts
from dunwell.core.claims.fields import DebtorName
from dunwell.platform.database.database import Connection

# Uses the primary key.
_SAVE = """
INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, due_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
RETURNING true
"""
# Inserts occasions of several claims.
_SAVE_MANY = """
INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, due_at)
SELECT $1, claim_id, occasion, subject, facts::jsonb, due_at
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    AS o (claim_id, occasion, subject, facts, due_at)
ON CONFLICT DO NOTHING
"""
# Over all merchants: occasions without a notice, and those whose notice has its outcome. Uses
# debtor_occasions_due, then debtor_notices_pkey.
_FIND_DUE = """
SELECT o.merchant_id, o.claim_id, o.occasion, o.subject
FROM debtor_occasions o
LEFT JOIN debtor_notices n ON n.merchant_id = o.merchant_id AND n.notice_id = o.notice_id
WHERE o.due_at <= $1 AND (n.state IS NULL OR n.state NOT IN ('PLANNED', 'HANDED_OVER'))
ORDER BY o.due_at
LIMIT $2
"""
# Uses the primary key, as do the statements down to _LOAD_DEBTOR. Waits for a transaction that
# records a report about the notice; the next statement sees its result.
_LOCK = """
SELECT facts, notice_id
FROM debtor_occasions
WHERE merchant_id = $1 AND claim_id = $2 AND occasion = $3 AND subject = $4 AND due_at <= $5
FOR NO KEY UPDATE
"""
_LOAD_SENT = """
SELECT channel, state FROM debtor_notices WHERE merchant_id = $1 AND notice_id = $2
"""
_SAVE_SENT = """
UPDATE debtor_occasions SET notice_id = $5
WHERE merchant_id = $1 AND claim_id = $2 AND occasion = $3 AND subject = $4
"""
_POSTPONE = """
UPDATE debtor_occasions SET due_at = $5
WHERE merchant_id = $1 AND claim_id = $2 AND occasion = $3 AND subject = $4
"""
_END = """
UPDATE debtor_occasions SET due_at = NULL, ended_at = $5
WHERE merchant_id = $1 AND claim_id = $2 AND occasion = $3 AND subject = $4
"""
_LOAD_DEBTOR = """
SELECT email, mobile_number, address, salutation, first_name, last_name, company_name, language
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""
# Uses debtor_occasions_notice.
_REOPEN = """
UPDATE debtor_occasions SET due_at = $3, ended_at = NULL
WHERE merchant_id = $1 AND notice_id = $2 AND facts IS NOT NULL
"""
# Uses debtor_occasions_ended.
_ERASE = """
WITH emptied AS (
    UPDATE debtor_occasions
    SET facts = NULL
    WHERE (merchant_id, claim_id, occasion, subject) IN (
        SELECT merchant_id, claim_id, occasion, subject
        FROM debtor_occasions
        WHERE ended_at < $1 AND facts IS NOT NULL
          AND (ended_at < $3 OR occasion <> ALL($4::text[]))
        LIMIT $2
        FOR NO KEY UPDATE SKIP LOCKED
    )
    RETURNING subject
)
SELECT count(*) FROM emptied
"""


class NoticeOccasion(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The key of an occasion, of which a debtor is notified once. `name` is the name of its
    template."""

    merchant_id: int
    claim_id: int
    name: str
    subject: str


@dataclass(frozen=True, slots=True)
class OccasionToSave:
    """An occasion to be stored. `due_at` is real time."""

    claim_id: int
    subject: str
    facts: OccasionFacts
    due_at: datetime


@dataclass(frozen=True, slots=True)
class SentNotice:
    """The last notice of an occasion and its state."""

    channel: NoticeChannel
    state: NoticeState


@dataclass(frozen=True, slots=True)
class OccasionState:
    """The facts of an occasion and its last notice; None if none was sent."""

    facts: OccasionFacts
    sent: SentNotice | None


class Debtor(msgspec.Struct, frozen=True, gc=False):
    """The addresses and name of a claim's debtor, and the claim's language."""

    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    name: DebtorName
    language: str | None


async def save_occasion(
    tx: Connection, occasion: NoticeOccasion, facts: OccasionFacts, due_at: datetime
) -> bool:
    """Insert the occasion. Return False if it already exists."""
    stored = msgspec.to_builtins(facts)
    return bool(await tx.fetchval(_SAVE, *_key(occasion), stored, due_at))


async def save_occasions(
    tx: Connection, merchant_id: int, occasions: Sequence[OccasionToSave]
) -> None:
    """Insert the occasions that do not exist yet."""
    if occasions:
        await tx.execute(
            _SAVE_MANY, merchant_id, [each.claim_id for each in occasions],
            [each.facts.template for each in occasions], [each.subject for each in occasions],
            [msgspec.json.encode(each.facts).decode() for each in occasions],
            [each.due_at for each in occasions],
        )  # fmt: skip


async def list_due_occasions(tx: Connection, now: datetime, limit: int) -> Sequence[NoticeOccasion]:
    return [NoticeOccasion(*row) for row in await tx.fetch(_FIND_DUE, now, limit)]


async def lock_occasion(
    tx: Connection, occasion: NoticeOccasion, now: datetime
) -> OccasionState | None:
    """Lock an occasion whose claim is locked. Return None if it is no longer due, or if its notice
    has no outcome yet."""
    row = await tx.fetchrow(_LOCK, *_key(occasion), now)
    if row is None:
        return None
    sent = await _load_sent(tx, occasion.merchant_id, row["notice_id"])
    if sent is not None and sent.state in ("PLANNED", "HANDED_OVER"):
        return None
    return OccasionState(msgspec.convert(row["facts"], OCCASIONS[occasion.name]), sent)


async def save_occasion_notice(tx: Connection, occasion: NoticeOccasion, notice_id: UUID) -> None:
    """Save the notice by which the debtor is being notified of the occasion."""
    await tx.execute(_SAVE_SENT, *_key(occasion), notice_id)


async def postpone_occasion(tx: Connection, occasion: NoticeOccasion, until: datetime) -> None:
    await tx.execute(_POSTPONE, *_key(occasion), until)


async def end_occasion(tx: Connection, occasion: NoticeOccasion, now: datetime) -> None:
    await tx.execute(_END, *_key(occasion), now)


async def load_debtor(tx: Connection, merchant_id: int, claim_id: int) -> Debtor:
    """Load the debtor of an existing claim."""
    row = await tx.fetchrow(_LOAD_DEBTOR, merchant_id, claim_id)
    assert row is not None, "every claim has a debtor"
    name = DebtorName(
        salutation=row["salutation"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        company_name=row["company_name"],
    )
    return Debtor(
        row["email"],
        row["mobile_number"],
        address=row["address"],
        name=name,
        language=row["language"],
    )


async def reopen_occasion(tx: Connection, merchant_id: int, notice_id: UUID, now: datetime) -> None:
    """Reopen the occasion of a notice that did not arrive, if the notice belongs to one."""
    await tx.execute(_REOPEN, merchant_id, notice_id, now)


async def erase_occasions(
    tx: Connection, ended_before: datetime, *, answers_before: datetime, limit: int
) -> int:
    """Erase the facts of finished occasions and return the number of erased rows.

    `answers_before` is the limit for occasions that may be sent as a letter.
    """
    names = [each.template for each in get_args(LetterFacts)]
    count: int = await tx.fetchval(_ERASE, ended_before, limit, answers_before, names)
    return count


async def _load_sent(tx: Connection, merchant_id: int, notice_id: UUID | None) -> SentNotice | None:
    if notice_id is None:
        return None
    row = await tx.fetchrow(_LOAD_SENT, merchant_id, notice_id)
    return None if row is None else SentNotice(*row)


def _key(occasion: NoticeOccasion) -> tuple[int, int, str, str]:
    return occasion.merchant_id, occasion.claim_id, occasion.name, occasion.subject
