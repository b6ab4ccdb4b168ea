"""The SQL that changes merchants: their rows, their configuration, their revision."""

from datetime import datetime

import msgspec

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.merchant import NewMerchant
from dunwell.platform.database.database import Connection

_INSERT_MERCHANT = """
INSERT INTO merchants
    (key, name, sandbox, switched_to_workflows, configuration, sandbox_now, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (key) DO NOTHING
RETURNING merchant_id
"""

_UPDATE_MERCHANT = """
UPDATE merchants
SET name = $2, configuration = $3, revision = revision + 1
WHERE merchant_id = $1
"""

_RAISE_REVISION = "UPDATE merchants SET revision = revision + 1 WHERE merchant_id = $1"

_LOAD_SWITCHED = "SELECT switched_to_workflows FROM merchants WHERE merchant_id = $1"

_MARK_SWITCHED = """
UPDATE merchants
SET switched_to_workflows = true, revision = revision + 1
WHERE merchant_id = $1
"""

# Orders everything that changes one merchant's setup.
_LOCK_MERCHANT = """
SELECT merchant_id
FROM merchants
WHERE merchant_id = $1
FOR NO KEY UPDATE
"""


async def save_merchant(
    tx: Connection, new: NewMerchant, now: datetime, sandbox_now: datetime | None
) -> int | None:
    """Store a merchant, with its own clock if it is a sandbox; None: the key is taken."""
    merchant_id: int | None = await tx.fetchval(
        _INSERT_MERCHANT, new.key, new.name, new.is_sandbox, new.switched_to_workflows,
        msgspec.to_builtins(new.configuration), sandbox_now, now,
    )  # fmt: skip
    return merchant_id


async def save_configuration(
    tx: Connection, merchant_id: int, name: str, configuration: Configuration
) -> None:
    """Store name and configuration, as a new revision."""
    document = msgspec.to_builtins(configuration)
    await tx.execute(_UPDATE_MERCHANT, merchant_id, name, document)


async def raise_revision(tx: Connection, merchant_id: int) -> None:
    """Tell every process that what it keeps of the merchant's setup is old."""
    await tx.execute(_RAISE_REVISION, merchant_id)


async def lock_merchant(tx: Connection, merchant_id: int) -> None:
    """Hold the merchant's setup still until the transaction ends."""
    await tx.execute(_LOCK_MERCHANT, merchant_id)


async def load_switched(tx: Connection, merchant_id: int) -> bool:
    """Whether the merchant works with workflows by now."""
    is_switched: bool = await tx.fetchval(_LOAD_SWITCHED, merchant_id)
    return is_switched


async def mark_switched(tx: Connection, merchant_id: int) -> None:
    """From scenarios to workflows, as a new revision; there is no way back."""
    await tx.execute(_MARK_SWITCHED, merchant_id)
