"""The landing's only reads without a merchant id, beside a session's own: whose a link, a code or a
reference is.

Each answers with the merchant; everything behind it names that merchant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.entering.letter_sums import LetterSums
from dunwell.interfaces.landing.entering.proofs import NOTHING_KNOWN, Known, know
from dunwell.interfaces.landing.session.on_file import OnFile
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import MerchantRow, find_merchant
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_MERCHANT = "m.merchant_id, m.key, m.name, m.switched_to_workflows, m.revision, m.sandbox_now"
# Rides on debtor_links_token_hash_key, then on primary keys.
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
# Rides on debtor_codes_code_digest_key, then on a primary key.
_FIND_CODE = compose(
    """
SELECT {merchant}, claim_id, communication_id, debtor.language
FROM debtor_codes
JOIN merchants m USING (merchant_id)
JOIN debtors debtor USING (merchant_id, claim_id)
WHERE code_digest = ANY($1::bytea[])
""",
    merchant=_MERCHANT,
)
# Rides on check_codes_digest, then on a primary key.
_FIND_CHECKED = compose(
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
# Every merchant has one claim of a reference at most: claims_reference, for each of them; then a
# primary key.
_FIND_REFERENCES = """
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
# By primary key, on items' and on payments' unique key.
_LOAD_SUMS = """
SELECT claim.currency,
       ARRAY(SELECT item.value_cents FROM items item
             WHERE item.merchant_id = $1 AND item.claim_id = $2
             ORDER BY item.position, item.item_id) AS items_cents,
       ARRAY(SELECT payment.amount_cents FROM payments payment
             WHERE payment.merchant_id = $1 AND payment.claim_id = $2
               AND payment.reversed_at IS NULL
             ORDER BY payment.paid_at, payment.payment_id) AS payments_cents
FROM claims claim
WHERE claim.merchant_id = $1 AND claim.claim_id = $2
"""


@dataclass(frozen=True, slots=True)
class WayIn:
    """A claim that a link or a code leads to."""

    merchant: Merchant
    claim_id: int
    communication_id: UUID | None
    # Of the communication or notice the link belonged to; none for a code and for the claim's own
    # link.
    channel: Channel | None
    level: Level
    # The claim's.
    language: str | None
    # What a link can ask for; a code asks for nothing.
    known: Known = NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim that a message is about whose code was typed."""

    merchant: Merchant
    claim_id: int


class ReferencedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim of a reference, and where its debtor is reached."""

    merchant_id: int
    claim_id: int
    addresses: Mapping[NoticeChannel, str]
    language: str | None


async def find_link(tx: Connection, token_hash: bytes) -> WayIn | None:
    row = await tx.fetchrow(_FIND_LINK, token_hash)
    if row is None:
        return None
    on_file = OnFile(*(row[name] for name in OnFile.__struct_fields__))
    return replace(await _read_way(tx, row, row["channel"], Level.LINK), known=know(on_file))


async def find_code(tx: Connection, code_digests: Sequence[bytes]) -> WayIn | None:
    """A letter's code counts as the known fact."""
    row = await tx.fetchrow(_FIND_CODE, code_digests)
    return None if row is None else await _read_way(tx, row, None, Level.FACT)


async def find_checked(tx: Connection, code_digests: Sequence[bytes]) -> list[Checked]:
    """The claims of e-mails and texts with this code, which opens none of them."""
    return [
        Checked(await _read_merchant(tx, row), row["claim_id"])
        for row in await tx.fetch(_FIND_CHECKED, code_digests)
    ]


async def find_references(tx: Connection, reference: str) -> list[ReferencedClaim]:
    """The claims of this reference, over all merchants."""
    return [
        ReferencedClaim(row["merchant_id"], row["claim_id"], _read_addresses(row), row["language"])
        for row in await tx.fetch(_FIND_REFERENCES, reference)
    ]


async def load_letter_sums(tx: Connection, merchant_id: int, claim_id: int) -> LetterSums | None:
    row = await tx.fetchrow(_LOAD_SUMS, merchant_id, claim_id)
    return None if row is None else LetterSums(**row)


async def _read_way(tx: Connection, row: Row, channel: Channel | None, level: Level) -> WayIn:
    return WayIn(
        merchant=await _read_merchant(tx, row),
        claim_id=row["claim_id"],
        communication_id=row["communication_id"],
        channel=channel,
        level=level,
        language=row["language"],
    )


async def _read_merchant(tx: Connection, row: Row) -> Merchant:
    whose = MerchantRow(*(row[name] for name in MerchantRow.__struct_fields__))
    return await find_merchant(tx, whose)


def _read_addresses(row: Row) -> dict[NoticeChannel, str]:
    given: dict[NoticeChannel, str | None] = {"EMAIL": row["email"], "SMS": row["mobile_number"]}
    return {channel: address for channel, address in given.items() if address}
