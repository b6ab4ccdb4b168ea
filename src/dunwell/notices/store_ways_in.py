"""The SQL of a notice's link and of its letter's code. Rows in, no rules."""

from datetime import datetime
from uuid import UUID

from dunwell.kit.db import Connection

_SAVE_LINK = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at, notice_id)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_CODE = """
INSERT INTO debtor_codes (merchant_id, code_digest, claim_id, created_at, key_version)
VALUES ($1, $2, $3, $4, $5)
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
