"""Delete expired rows of merchants: tokens, secrets, rate limit counters, stored responses and
failed attempts.

It covers all merchants. Each statement deletes a limited number of rows, so that it is short and
locks little.
"""

from datetime import datetime, timedelta

from dunwell.accounts.merchants.store import KEPT_FOR
from dunwell.platform.database.attempts import remove_attempts
from dunwell.platform.database.database import Connection

_ROWS_AT_ONCE = 5000

# Uses access_tokens_expiry.
_REMOVE_TOKENS = """
DELETE FROM access_tokens
WHERE (merchant_id, token_hash) IN (
    SELECT merchant_id, token_hash FROM access_tokens WHERE expires_at < $1 LIMIT $2
)
"""

_REMOVE_SECRETS = "DELETE FROM credential_secrets WHERE expires_at < $1"

_REMOVE_QUOTAS = "DELETE FROM request_quotas WHERE minute < $1"

# Uses idempotency_keys_age.
_REMOVE_KEPT_ANSWERS = """
DELETE FROM idempotency_keys
WHERE (merchant_id, key) IN (
    SELECT merchant_id, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2
)
"""


async def sweep_merchant_rows(tx: Connection, now: datetime) -> int:
    """Delete what had expired at the real time `now` and return the number of rows. If it is
    _ROWS_AT_ONCE or more, call it again."""
    done = [
        await tx.execute(_REMOVE_TOKENS, now, _ROWS_AT_ONCE),
        await tx.execute(_REMOVE_SECRETS, now),
        await tx.execute(_REMOVE_QUOTAS, now - timedelta(minutes=2)),
        await tx.execute(_REMOVE_KEPT_ANSWERS, now - KEPT_FOR, _ROWS_AT_ONCE),
    ]
    removed = sum(int(tag.rpartition(" ")[2]) for tag in done)
    return removed + await remove_attempts(tx, now)
