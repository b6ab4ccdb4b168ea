"""The SQL of what a notice bears: a link, its letter's code, a code to check it by. Rows in, no
rules. Contacts have theirs written when they are handed over."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection

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
