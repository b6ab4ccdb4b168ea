"""The SQL of links, codes and references, and of the attempts that are counted. Links, codes and
references are looked up over all merchants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.facts import OnFile
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import MerchantRow, get_merchant
from dunwell.interfaces.landing.sign_in.attempt_limits import ProofAttempts
from dunwell.interfaces.landing.sign_in.verification import (
    NO_KNOWN_PROOFS,
    KnownProofs,
    LetterAmounts,
    build_known_proofs,
)
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose, nest

_MERCHANT = "m.merchant_id, m.key, m.name, m.switched_to_workflows, m.revision, m.sandbox_now"
# Uses the index debtor_links_token_hash_key, then primary keys.
_FIND_LINK = compose(
    """
SELECT {merchant}, link.claim_id, link.communication_id, debtor.language,
       coalesce(contact.channel, notice.channel) AS channel,
       debtor.email, debtor.mobile_number, debtor.address AS postal_address,
       debtor.date_of_birth::text, debtor.contract_number, debtor.customer_number
FROM debtor_links link
JOIN merchants m USING (merchant_id)
JOIN debtors debtor USING (merchant_id, claim_id)
LEFT JOIN communications contact
    ON contact.merchant_id = link.merchant_id
    AND contact.communication_id = link.communication_id
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = link.merchant_id AND notice.notice_id = link.notice_id
WHERE link.token_hash = $1
""",
    merchant=_MERCHANT,
)
# Uses the index letter_codes_code_digest_key, then a primary key.
_FIND_CODE = compose(
    """
SELECT {merchant}, claim_id, communication_id, debtor.language
FROM letter_codes
JOIN merchants m USING (merchant_id)
JOIN debtors debtor USING (merchant_id, claim_id)
WHERE code_digest = ANY($1::bytea[])
""",
    merchant=_MERCHANT,
)
# Uses the index check_codes_digest, then a primary key.
_LIST_CLAIMS_BY_CHECK_CODE = compose(
    """
SELECT {merchant}, code.claim_id
FROM check_codes code
JOIN merchants m USING (merchant_id)
WHERE code.code_digest = ANY($1::bytea[])
ORDER BY code.created_at, code.message_id
LIMIT 5
""",
    merchant=_MERCHANT,
)
# A merchant has at most one claim with this reference. Uses the index claims_reference once per
# merchant, then a primary key.
_LIST_CLAIMS_BY_REFERENCE = """
SELECT debtor.merchant_id, debtor.claim_id, debtor.email, debtor.mobile_number, debtor.language
FROM merchants merchant
CROSS JOIN LATERAL (
    SELECT merchant_id, claim_id
    FROM claims
    WHERE merchant_id = merchant.merchant_id AND reference_number = $1
    OFFSET 0
) claim
JOIN debtors debtor
    ON debtor.merchant_id = claim.merchant_id AND debtor.claim_id = claim.claim_id
ORDER BY debtor.merchant_id
"""
# Uses the primary key, and the indexes of items and payments by claim.
_LOAD_AMOUNTS = """
SELECT claim.currency,
       ARRAY(SELECT item.value_cents FROM items item
             WHERE item.merchant_id = $1 AND item.claim_id = $2
             ORDER BY item.position, item.item_id) AS items_cents,
       ARRAY(SELECT payment.amount_cents - payment.returned_cents FROM payments payment
             WHERE payment.merchant_id = $1 AND payment.claim_id = $2
               AND payment.reversed_at IS NULL
             ORDER BY payment.paid_at, payment.payment_id) AS payments_cents
FROM claims claim
WHERE claim.merchant_id = $1 AND claim.claim_id = $2
"""


@dataclass(frozen=True, slots=True)
class ClaimAccess:
    """A claim that a link or a code leads to."""

    merchant: Merchant
    claim_id: int
    communication_id: UUID | None
    # The channel of the link's communication or notice. None for a code, and for the claim's
    # permanent link.
    channel: Channel | None
    level: Level
    # The language on file for the claim.
    language: str | None
    # The proofs that a link can ask for. Empty for a code, which is a proof itself.
    known: KnownProofs = NO_KNOWN_PROOFS


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim that an entered link, letter's code or check code belongs to."""

    merchant: Merchant
    claim_id: int


class ReferencedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim with the entered reference, and the debtor's addresses."""

    merchant_id: int
    claim_id: int
    addresses: Mapping[NoticeChannel, str]
    language: str | None


async def find_access_by_link(tx: Connection, token_hash: bytes) -> ClaimAccess | None:
    row = await tx.fetchrow(_FIND_LINK, token_hash)
    if row is None:
        return None
    on_file = OnFile(*(row[name] for name in OnFile.__struct_fields__))
    return replace(
        await _build_access(tx, row, row["channel"], Level.LINK), known=build_known_proofs(on_file)
    )


async def find_access_by_code(tx: Connection, code_digests: Sequence[bytes]) -> ClaimAccess | None:
    """Find the claim of a letter's code, which counts as a proof."""
    row = await tx.fetchrow(_FIND_CODE, code_digests)
    return None if row is None else await _build_access(tx, row, None, Level.FACT)


async def list_claims_by_check_code(
    tx: Connection, code_digests: Sequence[bytes]
) -> list[CheckedClaim]:
    """List at most five claims of e-mails and text messages with this check code, which opens no
    claim."""
    return [
        CheckedClaim(await _load_merchant(tx, row), row["claim_id"])
        for row in await tx.fetch(_LIST_CLAIMS_BY_CHECK_CODE, code_digests)
    ]


async def list_claims_by_reference(tx: Connection, reference: str) -> list[ReferencedClaim]:
    """List the claims with this reference, of all merchants."""
    return [
        ReferencedClaim(row["merchant_id"], row["claim_id"], _build_addresses(row), row["language"])
        for row in await tx.fetch(_LIST_CLAIMS_BY_REFERENCE, reference)
    ]


async def load_letter_amounts(
    tx: Connection, merchant_id: int, claim_id: int
) -> LetterAmounts | None:
    row = await tx.fetchrow(_LOAD_AMOUNTS, merchant_id, claim_id)
    return None if row is None else LetterAmounts(**row)


async def _build_access(
    tx: Connection, row: Row, channel: Channel | None, level: Level
) -> ClaimAccess:
    return ClaimAccess(
        merchant=await _load_merchant(tx, row),
        claim_id=row["claim_id"],
        communication_id=row["communication_id"],
        channel=channel,
        level=level,
        language=row["language"],
    )


async def _load_merchant(tx: Connection, row: Row) -> Merchant:
    merchant_row = MerchantRow(*(row[name] for name in MerchantRow.__struct_fields__))
    return await get_merchant(tx, merchant_row)


def _build_addresses(row: Row) -> dict[NoticeChannel, str]:
    given: dict[NoticeChannel, str | None] = {"EMAIL": row["email"], "SMS": row["mobile_number"]}
    return {channel: address for channel, address in given.items() if address}


# Serializes the requests of one visitor, so that concurrent ones are all counted.
_LOCK_VISITOR = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))"
# Uses the primary key.
_LOAD_VISITOR_REQUESTS = """
SELECT coalesce(sum(requests), 0)::integer AS requests, min(window_start) AS first_at
FROM link_request_counts
WHERE visitor_digest = $1 AND window_start > $2
"""
_SAVE_VISITOR_REQUEST = """
INSERT INTO link_request_counts AS known (visitor_digest, window_start, requests)
VALUES ($1, $2, 1)
ON CONFLICT (visitor_digest, window_start) DO UPDATE SET requests = known.requests + 1
"""
# Serializes wrong codes of all visitors, so that each transaction sees those before it.
_LOCK_WRONG_CODES = "SELECT pg_advisory_xact_lock(hashtextextended('wrong codes', 2))"
# Uses the primary key. The table has one row per minute, for about twenty minutes.
_COUNT_WRONG_CODES = """
WITH this AS (
    INSERT INTO letter_code_failures AS known (minute, count)
    VALUES ($1, 1)
    ON CONFLICT (minute) DO UPDATE SET count = known.count + 1
    RETURNING minute, count
)
SELECT (this.count + coalesce(sum(other.count), 0))::integer
FROM this LEFT JOIN letter_code_failures other ON other.minute > $2 AND other.minute <> this.minute
GROUP BY this.count
"""
_REMOVE_WRONG_CODES = "DELETE FROM letter_code_failures WHERE minute < $1"
_REMOVE_VISITOR_REQUESTS = "DELETE FROM link_request_counts WHERE window_start < $1"
# Uses the primary key, as do the statements below. The update of a row to its own value locks it.
_LOCK_ATTEMPTS = """
INSERT INTO verification_failures AS known (merchant_id, claim_id, failures, first_at)
VALUES ($1, $2, 0, $3)
ON CONFLICT (merchant_id, claim_id) DO UPDATE SET failures = known.failures
RETURNING failures, first_at, locked_until, day_failures, day_first_at
"""
_SAVE_ATTEMPTS = """
UPDATE verification_failures
SET failures = $3, first_at = $4, locked_until = $5, day_failures = $6, day_first_at = $7
WHERE merchant_id = $1 AND claim_id = $2
"""
_REMOVE_ATTEMPTS = "DELETE FROM verification_failures WHERE merchant_id = $1 AND claim_id = $2"
_SAVE_SENT = """
INSERT INTO verification_codes (merchant_id, claim_id, notice_id, expires_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (merchant_id, claim_id) DO UPDATE
SET notice_id = excluded.notice_id, expires_at = excluded.expires_at, failures = 0,
    used_at = NULL
"""
# The delivery of the claim's newest code.
_LOAD_DELIVERY = """
SELECT notice.state = 'FAILED' AS is_undelivered
FROM verification_codes code
JOIN debtor_notices notice USING (merchant_id, notice_id)
WHERE code.merchant_id = $1 AND code.claim_id = $2
"""
_LOCK_SENT = """
SELECT code.notice_id, code.expires_at, code.failures, code.used_at, notice.key_version,
       notice.channel, notice.recipient
FROM verification_codes code
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = code.merchant_id AND notice.notice_id = code.notice_id
WHERE code.merchant_id = $1 AND code.claim_id = $2
FOR UPDATE OF code
"""
_SAVE_SENT_WRONG = """
UPDATE verification_codes SET failures = failures + 1 WHERE merchant_id = $1 AND claim_id = $2
"""
_SAVE_SENT_USED = """
UPDATE verification_codes SET used_at = $3 WHERE merchant_id = $1 AND claim_id = $2
"""
# True if the claim's newest code was reported as undelivered, None if no code was sent.
UNDELIVERED: Detail[bool | None] = Detail(nest(_LOAD_DELIVERY, *KEY), bool | None)


@dataclass(frozen=True, slots=True)
class VisitorRequests:
    """How many links the visitor requested in the period, and the time of the first request."""

    requests: int
    first_at: datetime | None


@dataclass(frozen=True, slots=True)
class SentCode:
    notice_id: UUID
    expires_at: datetime
    failures: int
    used_at: datetime | None
    # The version of the secret key that the code was derived with.
    key_version: int | None
    # The channel and address that the code was sent to.
    channel: NoticeChannel | None
    recipient: str | None


async def load_visitor_requests(tx: Connection, visitor: bytes, since: datetime) -> VisitorRequests:
    """Load the visitor's requests. Waits for other transactions of this visitor."""
    await tx.execute(_LOCK_VISITOR, visitor)
    return VisitorRequests(**await tx.fetchrow(_LOAD_VISITOR_REQUESTS, visitor, since))


async def save_visitor_request(tx: Connection, visitor: bytes, minute: datetime) -> None:
    await tx.execute(_SAVE_VISITOR_REQUEST, visitor, minute)


async def increment_wrong_codes(tx: Connection, minute: datetime, since: datetime) -> int:
    """Count one more wrong code and return the number since `since`. Waits for other transactions
    that count, so that no two see the same number within the period."""
    await tx.execute(_LOCK_WRONG_CODES)
    count: int = await tx.fetchval(_COUNT_WRONG_CODES, minute, since)
    return count


async def delete_visitor_attempts(tx: Connection, before: datetime) -> int:
    """Delete the counts of visitors and the counts of wrong codes. Return the number of rows."""
    tags = [
        await tx.execute(statement, before)
        for statement in (_REMOVE_VISITOR_REQUESTS, _REMOVE_WRONG_CODES)
    ]
    return sum(int(tag.rpartition(" ")[2]) for tag in tags)


async def lock_proof_attempts(
    tx: Connection, merchant_id: int, claim_id: int, now: datetime
) -> ProofAttempts:
    """Lock the attempts of a claim. Waits for other transactions that hold the lock."""
    return ProofAttempts(**await tx.fetchrow(_LOCK_ATTEMPTS, merchant_id, claim_id, now))


async def save_proof_attempts(
    tx: Connection, merchant_id: int, claim_id: int, attempts: ProofAttempts
) -> None:
    await tx.execute(
        _SAVE_ATTEMPTS, merchant_id, claim_id, attempts.failures, attempts.first_at,
        attempts.locked_until,
        attempts.day_failures, attempts.day_first_at,
    )  # fmt: skip


async def delete_proof_attempts(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_REMOVE_ATTEMPTS, merchant_id, claim_id)


async def save_sent_code(
    tx: Connection, merchant_id: int, claim_id: int, notice_id: UUID, expires_at: datetime
) -> None:
    """Save the sent code in place of the previous one."""
    await tx.execute(_SAVE_SENT, merchant_id, claim_id, notice_id, expires_at)


async def is_undelivered(tx: Connection, merchant_id: int, claim_id: int) -> bool:
    """Return whether the claim's newest code was reported as undelivered."""
    return bool(await tx.fetchval(_LOAD_DELIVERY, merchant_id, claim_id))


async def lock_sent_code(tx: Connection, merchant_id: int, claim_id: int) -> SentCode | None:
    row = await tx.fetchrow(_LOCK_SENT, merchant_id, claim_id)
    return None if row is None else SentCode(**row)


async def save_sent_code_failure(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_SAVE_SENT_WRONG, merchant_id, claim_id)


async def save_sent_code_used(
    tx: Connection, merchant_id: int, claim_id: int, now: datetime
) -> None:
    await tx.execute(_SAVE_SENT_USED, merchant_id, claim_id, now)


_INSERT_LINK_REQUEST = """
INSERT INTO link_requests (link_request_id, reference, contact, requested_at) VALUES ($1, $2, $3,
    $4)
"""
# Uses the index link_requests_requested.
_LIST_LINK_REQUESTS = "SELECT link_request_id FROM link_requests ORDER BY requested_at LIMIT $1"
# Uses the primary key.
_REMOVE_LINK_REQUEST = """
DELETE FROM link_requests
WHERE link_request_id = $1 RETURNING reference, contact, requested_at
"""


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """A request for a new link, as it was entered."""

    reference: str
    contact: str
    # Real time.
    requested_at: datetime


async def insert_link_request(tx: Connection, link_request_id: UUID, request: LinkRequest) -> None:
    await tx.execute(
        _INSERT_LINK_REQUEST,
        link_request_id,
        request.reference,
        request.contact,
        request.requested_at,
    )


async def list_link_requests(tx: Connection, limit: int) -> Sequence[UUID]:
    """List the oldest requests."""
    return [row["link_request_id"] for row in await tx.fetch(_LIST_LINK_REQUESTS, limit)]


async def delete_link_request(tx: Connection, link_request_id: UUID) -> LinkRequest | None:
    """Delete the request and return it, or return None if it no longer exists. If the transaction
    is rolled back, the request is kept."""
    row = await tx.fetchrow(_REMOVE_LINK_REQUEST, link_request_id)
    return None if row is None else LinkRequest(**row)
