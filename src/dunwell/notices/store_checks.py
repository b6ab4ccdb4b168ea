"""The SQL of what notices can be checked by; contacts have theirs written when they are handed
over."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.kit.db import Connection

_SAVE = """
INSERT INTO check_codes
    (merchant_id, message_id, claim_id, code_digest, key_version, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
"""


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
        _SAVE, merchant_id, code.notice_id, code.claim_id, code.digest, code.key_version,
        created_at,
    )  # fmt: skip
