"""The SQL of notices: planning, leasing, recording outcomes, emptying. Rows in, values out, no
rules.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.messages.letters.sheet import Sheet
from dunwell.contact.notices.notice import (
    Addressee,
    DebtorNotice,
    NoticeChannel,
    NoticeKind,
    Settlement,
    State,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

# A channel of a merchant: what is slow there holds up no other.
MerchantChannel = tuple[int, NoticeChannel]

# Rides on debtor_notices_claim.
_LOAD_ASKED = """
SELECT created_at
FROM debtor_notices
WHERE merchant_id = $1 AND claim_id = $2 AND kind = $3 AND created_at > $4
"""
# The same. What is stored is the same for each code and link: they are masked.
_FIND_REPEATED = """
SELECT notice_id
FROM debtor_notices
WHERE merchant_id = $1 AND claim_id = $2 AND kind = $3 AND created_at > $4
  AND channel = $5 AND recipient = $6 AND body_text = $7 AND state <> 'FAILED'
ORDER BY created_at DESC, notice_id DESC
LIMIT 1
"""
# The same.
_HAS_RECENT = """
SELECT EXISTS (
    SELECT FROM debtor_notices
    WHERE merchant_id = $1 AND claim_id = $2 AND kind = $3 AND created_at > $4
      AND channel = $5 AND recipient = $6 AND state <> 'FAILED')
"""
# Those who ask for one address at the same time take turns, whatever their claims.
_TAKE_TURN = """
SELECT pg_advisory_xact_lock(hashtextextended(encode(digest, 'hex'), 1))
FROM unnest($1::bytea[]) AS digest
"""
# Of all merchants. Rides on debtor_notices_recipient.
_LOAD_ASKED_TO_ONE = """
SELECT created_at
FROM debtor_notices
WHERE recipient_digest = ANY($1::bytea[]) AND created_at > $2
"""
_SAVE = """
INSERT INTO debtor_notices
    (merchant_id, notice_id, claim_id, kind, channel, recipient, language, subject, body_text,
     body_html, dated_at, created_at, due_at, expires_at, recipient_digest, key_version,
     sheet)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16)
"""
NOTICES = LeasedTable(
    "debtor_notices", ("merchant_id", "notice_id"), ends_at="due_at", held_state="HANDED_OVER"
)
# A statement of its own, because each merchant's channel has its own limit.
# Of each merchant's channel as many as it has room for. Rides on debtor_notices_due, then on the
# primary key.
_LEASE = compose(
    """
WITH due AS (
    SELECT merchant_id, notice_id, channel, due_at,
           row_number() OVER (PARTITION BY merchant_id, channel ORDER BY due_at) AS place
    FROM debtor_notices
    WHERE {has_ended}
), chosen AS MATERIALIZED (
    SELECT n.merchant_id, n.notice_id, n.state = 'HANDED_OVER' AS was_handed_over
    FROM due
    JOIN debtor_notices n USING (merchant_id, notice_id)
    LEFT JOIN unnest($4::integer[], $5::text[], $6::integer[]) AS busy (merchant_id, channel, count)
        ON busy.merchant_id = due.merchant_id AND busy.channel = due.channel
    WHERE due.place <= $7 - coalesce(busy.count, 0) AND {is_still_due}
    ORDER BY due.due_at
    LIMIT $8
    FOR NO KEY UPDATE OF n SKIP LOCKED
)
UPDATE debtor_notices n
SET state = 'HANDED_OVER', {hold}, tries = tries + 1
FROM chosen
WHERE n.merchant_id = chosen.merchant_id AND n.notice_id = chosen.notice_id
RETURNING n.merchant_id, n.notice_id, n.claim_id, n.kind, n.channel, n.recipient, n.language,
    n.subject, n.body_text, n.body_html, n.tries, n.dated_at, n.expires_at, chosen.was_handed_over,
    n.key_version, n.sheet
""",
    has_ended=NOTICES.has_ended("$1"),
    is_still_due=NOTICES.has_ended("$1", "n."),
    hold=NOTICES.hold("$3", "$2"),
)
# By primary keys, as the next two.
_LOCK = """
SELECT claim_id, kind, channel, state
FROM debtor_notices
WHERE merchant_id = $1 AND notice_id = $2
FOR NO KEY UPDATE
"""
_SAVE_FAILED = """
UPDATE debtor_notices SET state = 'FAILED', failure = $3, settled_at = $4
WHERE merchant_id = $1 AND notice_id = $2
"""
# Rides on debtor_notices_settled.
_EMPTY = """
WITH emptied AS (
    UPDATE debtor_notices
    SET recipient = NULL, recipient_digest = NULL, subject = NULL, body_text = NULL,
        body_html = NULL, sheet = NULL
    WHERE (merchant_id, notice_id) IN (
        SELECT merchant_id, notice_id
        FROM debtor_notices
        WHERE settled_at < $1 AND recipient IS NOT NULL
        LIMIT $2
        FOR NO KEY UPDATE SKIP LOCKED
    )
    RETURNING notice_id
)
SELECT count(*) FROM emptied
"""


@dataclass(frozen=True, slots=True)
class NoticeTimes:
    """The merchant's time it bears; real time of being asked for, and of the end of its use."""

    dated_at: datetime
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Keyed:
    """By the secret key: of what counts as asked for at its address; the version it is made by."""

    recipient_digest: bytes | None
    version: int


@dataclass(frozen=True, slots=True)
class LeasedNotice:
    merchant_id: int
    notice_id: UUID
    notice: DebtorNotice
    # With the one that begins now.
    tries: int
    dated_at: datetime
    expires_at: datetime
    was_handed_over: bool  # Already before this lease.
    key_version: int

    @property
    def by_channel(self) -> MerchantChannel:
        return self.merchant_id, self.notice.addressee.channel


@dataclass(frozen=True, slots=True)
class StandingNotice:
    """A notice of which a report comes in."""

    claim_id: int
    kind: NoticeKind
    channel: NoticeChannel
    state: State


async def load_asked(
    tx: Connection, merchant_id: int, claim_id: int, kind: NoticeKind, since: datetime
) -> list[datetime]:
    """When the claim's notices of a kind were asked for."""
    rows = await tx.fetch(_LOAD_ASKED, merchant_id, claim_id, kind, since)
    return [row["created_at"] for row in rows]


async def has_recent(
    tx: Connection, merchant_id: int, to: Addressee, kind: NoticeKind, since: datetime
) -> bool:
    """Whether a notice of a kind went to this address of a locked claim and has not failed."""
    found: bool = await tx.fetchval(
        _HAS_RECENT, merchant_id, to.claim_id, kind, since, to.channel, to.recipient
    )
    return found


async def find_same(
    tx: Connection, merchant_id: int, notice: DebtorNotice, since: datetime
) -> UUID | None:
    """The newest that says the same to the same address and has not failed."""
    to = notice.addressee
    found: UUID | None = await tx.fetchval(
        _FIND_REPEATED, merchant_id, to.claim_id, notice.kind, since,
        to.channel, to.recipient, notice.body_text,
    )  # fmt: skip
    return found


async def load_asked_to_one(
    tx: Connection, recipient_digests: Collection[bytes], since: datetime
) -> list[datetime]:
    """When notices to this address were asked for. Waits until others who ask for it are done."""
    await tx.execute(_TAKE_TURN, sorted(recipient_digests))
    rows = await tx.fetch(_LOAD_ASKED_TO_ONE, recipient_digests, since)
    return [row["created_at"] for row in rows]


async def save_notice(
    tx: Connection, merchant_id: int, notice_id: UUID, notice: DebtorNotice, times: NoticeTimes,
    keyed: Keyed,
) -> None:  # fmt: skip
    addressee = notice.addressee
    await tx.execute(
        _SAVE, merchant_id, notice_id, addressee.claim_id, notice.kind, addressee.channel,
        addressee.recipient, addressee.language, notice.subject, notice.body_text,
        notice.body_html, times.dated_at, times.created_at, times.expires_at,
        keyed.recipient_digest, keyed.version,
        None if notice.sheet is None else msgspec.to_builtins(notice.sheet),
    )  # fmt: skip


async def lease_notices(
    tx: Connection, now: datetime, lease: Lease, busy: Mapping[MerchantChannel, int],
    *, channel_limit: int, limit: int,
) -> list[LeasedNotice]:  # fmt: skip
    """Due ones of all merchants, now handed over. busy: how many of each channel are under way."""
    channels = list(busy)
    rows = await tx.fetch(
        _LEASE, now, lease.lease_id, lease.until,
        [merchant_id for merchant_id, _ in channels], [channel for _, channel in channels],
        [busy[each] for each in channels], channel_limit, limit,
    )  # fmt: skip
    return [
        LeasedNotice(
            merchant_id=row["merchant_id"],
            notice_id=row["notice_id"],
            notice=DebtorNotice(
                NoticeKind(row["kind"]),
                Addressee(row["claim_id"], row["channel"], row["recipient"], row["language"]),
                subject=row["subject"],
                body_text=row["body_text"],
                body_html=row["body_html"],
                sheet=None if row["sheet"] is None else msgspec.convert(row["sheet"], Sheet),
            ),
            tries=row["tries"],
            dated_at=row["dated_at"],
            expires_at=row["expires_at"],
            was_handed_over=row["was_handed_over"],
            key_version=row["key_version"],
        )
        for row in rows
    ]


async def lock_notice(tx: Connection, merchant_id: int, notice_id: UUID) -> StandingNotice | None:
    """Waits until who sends or settles it is done."""
    row = await tx.fetchrow(_LOCK, merchant_id, notice_id)
    if row is None:
        return None
    return StandingNotice(row["claim_id"], NoticeKind(row["kind"]), row["channel"], row["state"])


async def save_failed(
    tx: Connection, merchant_id: int, notice_id: UUID, reason: str, now: datetime
) -> None:
    """Of a settled one."""
    await tx.execute(_SAVE_FAILED, merchant_id, notice_id, reason, now)


async def empty_notices(tx: Connection, settled_before: datetime, limit: int) -> int:
    """Take out address and content; how many were emptied."""
    count: int = await tx.fetchval(_EMPTY, settled_before, limit)
    return count


# By primary key, as the next.
_RENEW = NOTICES.renew()
_SETTLE = compose(
    """
UPDATE debtor_notices
SET state = $4, {clear}, failure = $6, line = coalesce($8, line),
    settled_at = CASE WHEN $5::timestamptz IS NULL THEN $7::timestamptz END
WHERE merchant_id = $1 AND notice_id = $2 AND {is_held}
RETURNING notice_id
""",
    clear=NOTICES.clear("$5"),
    is_held=NOTICES.is_held("$3"),
)
# By primary keys, whatever their state is: this waits for a transaction that is still marking them.
# An UPDATE would pass by a row whose committed version it does not want.
_LOCK_LEASED = """
SELECT FROM debtor_notices n
JOIN unnest($1::integer[], $2::uuid[]) AS t (merchant_id, notice_id)
    ON n.merchant_id = t.merchant_id AND n.notice_id = t.notice_id
ORDER BY n.merchant_id, n.notice_id
FOR NO KEY UPDATE OF n
"""
_TAKE_BACK = compose(
    """
UPDATE debtor_notices n
SET state = 'PLANNED', {clear}, tries = tries - 1
FROM unnest($1::integer[], $2::uuid[]) AS t (merchant_id, notice_id)
WHERE n.merchant_id = t.merchant_id AND n.notice_id = t.notice_id AND {is_held}
""",
    clear=NOTICES.clear("$4"),
    is_held=NOTICES.is_held("$3", "n."),
)


async def renew_notice(
    tx: Connection, leased: LeasedNotice, lease_id: UUID, until: datetime
) -> bool:
    """Renew the lease; False if it is not held any more, or if another transaction is changing the
    notice at this moment."""
    renewed = await tx.fetchval(_RENEW, leased.merchant_id, leased.notice_id, lease_id, until)
    return renewed is not None


async def save_notice_outcome(
    tx: Connection, leased: LeasedNotice, lease_id: UUID, settlement: Settlement,
    *, line: str | None, now: datetime,
) -> bool:  # fmt: skip
    """line: that it was given to. False: the lease had run out, and somebody else has taken it
    up."""
    saved = await tx.fetchval(
        _SETTLE, leased.merchant_id, leased.notice_id, lease_id,
        settlement.state, settlement.due_at, settlement.failure, now, line,
    )  # fmt: skip
    return saved is not None


async def replan_uncalled_notices(
    tx: Connection, leased: Collection[LeasedNotice], lease_id: UUID, now: datetime
) -> None:
    """Plan those again whose channel was never called, if they are still held under the lease. One
    that was handed over before this lease may have left then, and is not touched."""
    uncalled = [each for each in leased if not each.was_handed_over]
    if uncalled:
        keys = [each.merchant_id for each in uncalled], [each.notice_id for each in uncalled]
        await tx.execute(_LOCK_LEASED, *keys)
        await tx.execute(_TAKE_BACK, *keys, lease_id, now)


_SAVE_LINK = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at, notice_id)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_CODE = """
INSERT INTO debtor_codes (merchant_id, code_digest, claim_id, created_at, key_version)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_CHECK = """
INSERT INTO check_codes
    (merchant_id, message_id, claim_id, code_digest, key_version, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
"""


async def save_notice_link(
    tx: Connection, merchant_id: int, notice_id: UUID, claim_id: int,
    token_hash: bytes, created_at: datetime,
) -> None:  # fmt: skip
    await tx.execute(_SAVE_LINK, merchant_id, token_hash, claim_id, created_at, notice_id)


async def save_notice_code(
    tx: Connection, merchant_id: int, claim_id: int, code_digest: bytes, created_at: datetime,
    *, key_version: int,
) -> None:  # fmt: skip
    await tx.execute(_SAVE_CODE, merchant_id, code_digest, claim_id, created_at, key_version)


@dataclass(frozen=True, slots=True)
class CheckCode:
    """Of a notice about a claim; the version is that of the secret key the digest is made with."""

    notice_id: UUID
    claim_id: int
    digest: bytes
    key_version: int


async def save_check_code(
    tx: Connection, merchant_id: int, code: CheckCode, created_at: datetime
) -> None:
    await tx.execute(
        _SAVE_CHECK, merchant_id, code.notice_id, code.claim_id, code.digest, code.key_version,
        created_at,
    )  # fmt: skip
