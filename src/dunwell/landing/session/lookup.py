"""The landing's only reads without a merchant id: whose a link, a code or a session is.

Each answers with the merchant; everything behind it names that merchant.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.kit.db import Connection, Row
from dunwell.kit.sql import compose
from dunwell.landing.entering.proofs import NOTHING_KNOWN, Known, know
from dunwell.landing.session.details import NOTHING, Detail
from dunwell.landing.session.facts import ClaimFacts
from dunwell.landing.session.on_file import OnFile
from dunwell.landing.session.session import Level, Session
from dunwell.merchants.configuration import Channel
from dunwell.merchants.configuration_cache import find_kept
from dunwell.merchants.merchant import Merchant
from dunwell.merchants.store import load_merchant
from dunwell.modalities.modality import Modality
from dunwell.modalities.store import ModalityRow, read_modality
from dunwell.notices.notice import NoticeChannel

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
WHERE code_digest = $1
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
# Rides on debtor_sessions_session_hash_key.
_FIND_SESSION = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at
FROM debtor_sessions
WHERE session_hash = $1
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


class ReferencedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim of a reference, and where its debtor is reached."""

    merchant_id: int
    claim_id: int
    addresses: Mapping[NoticeChannel, str]
    language: str | None


class OpenedClaim(msgspec.Struct, frozen=True, gc=False):
    """A session with all that its pages show."""

    session: Session
    merchant: Merchant
    facts: ClaimFacts
    # The one that has not ended.
    modality: Modality | None = None
    # Whether the session has typed something that is kept for it.
    has_drafts: bool = True
    # Of the page's own (`details`), for it to read.
    detail: msgspec.Raw = msgspec.Raw(b"null")


class _MerchantRow(msgspec.Struct, array_like=True, gc=False):
    merchant_id: int
    key: str
    name: str
    switched_to_workflows: bool
    revision: int
    sandbox_now: datetime | None


class _Opened(msgspec.Struct, gc=False):
    merchant: _MerchantRow
    session: Session
    has_drafts: bool
    facts: ClaimFacts
    modality: ModalityRow | None
    detail: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Opened)


async def find_link(tx: Connection, token_hash: bytes) -> WayIn | None:
    row = await tx.fetchrow(_FIND_LINK, token_hash)
    if row is None:
        return None
    on_file = OnFile(*(row[name] for name in OnFile.__struct_fields__))
    return replace(await _read_way(tx, row, row["channel"], Level.LINK), known=know(on_file))


async def find_code(tx: Connection, code_digest: bytes) -> WayIn | None:
    """A letter's code counts as the known fact."""
    row = await tx.fetchrow(_FIND_CODE, code_digest)
    return None if row is None else await _read_way(tx, row, None, Level.FACT)


async def find_references(tx: Connection, reference: str) -> list[ReferencedClaim]:
    """The claims of this reference, over all merchants."""
    return [
        ReferencedClaim(row["merchant_id"], row["claim_id"], _read_addresses(row), row["language"])
        for row in await tx.fetch(_FIND_REFERENCES, reference)
    ]


async def find_session(tx: Connection, session_hash: bytes) -> Session | None:
    """The session, also when it has ended; it is kept for a while."""
    row = await tx.fetchrow(_FIND_SESSION, session_hash)
    return None if row is None else _read_session(row, session_hash)


async def load_opened_claim(
    tx: Connection, session_hash: bytes, detail: Detail[Any] = NOTHING, *ids: UUID | None
) -> OpenedClaim | None:
    """The session, also when it has ended, its claim, and what else its page shows, in one
    statement. ids: the detail's arguments."""
    document: str | None = await tx.fetchval(detail.statement, session_hash, *ids)
    if document is None:
        return None
    opened = _DECODER.decode(document)
    return OpenedClaim(
        opened.session,
        await _find_merchant(tx, opened.merchant),
        opened.facts,
        None if opened.modality is None else read_modality(opened.modality),
        opened.has_drafts,
        opened.detail,
    )


async def _find_merchant(tx: Connection, row: _MerchantRow) -> Merchant:
    """With the configuration the process keeps, or read anew when there is another one."""
    kept = find_kept(row.merchant_id)
    if kept.configuration is not None and kept.revision == row.revision:
        return Merchant(
            row.merchant_id, row.key, row.name, row.switched_to_workflows, row.revision,
            kept.configuration, row.sandbox_now,
        )  # fmt: skip
    merchant = await load_merchant(tx, row.merchant_id)
    assert merchant is not None
    return merchant


async def _read_way(tx: Connection, row: Row, channel: Channel | None, level: Level) -> WayIn:
    whose = _MerchantRow(*(row[name] for name in _MerchantRow.__struct_fields__))
    return WayIn(
        await _find_merchant(tx, whose),
        row["claim_id"],
        row["communication_id"],
        channel,
        level,
        row["language"],
    )


def _read_addresses(row: Row) -> dict[NoticeChannel, str]:
    given: dict[NoticeChannel, str | None] = {"EMAIL": row["email"], "SMS": row["mobile_number"]}
    return {channel: address for channel, address in given.items() if address}


def _read_session(row: Row, session_hash: bytes) -> Session:
    return Session(
        merchant_id=row["merchant_id"],
        session_hash=session_hash,
        session_id=row["session_id"],
        claim_id=row["claim_id"],
        communication_id=row["communication_id"],
        channel=row["channel"],
        level=Level(row["level"]),
        expires_at=row["expires_at"],
        ended_at=row["ended_at"],
    )
