"""Remove what has outlived its use: expired tokens and secrets, old quotas, kept answers, attempts.

It goes over all merchants, as a sweep does; each statement takes a limited number of rows so that
it locks little and ends soon.
"""

from datetime import datetime, timedelta

from dunwell.accounts.merchants.store import KEPT_FOR
from dunwell.platform.database.attempts import remove_attempts
from dunwell.platform.database.database import Connection

_ROWS_AT_ONCE = 5000

# Rides on access_tokens_expiry.
_REMOVE_TOKENS = """
DELETE FROM access_tokens
WHERE (merchant_id, token_hash) IN (
    SELECT merchant_id, token_hash FROM access_tokens WHERE expires_at < $1 LIMIT $2
)
"""

_REMOVE_SECRETS = "DELETE FROM credential_secrets WHERE expires_at < $1"

_REMOVE_QUOTAS = "DELETE FROM request_quotas WHERE minute < $1"

# Rides on idempotency_keys_age.
_REMOVE_KEPT_ANSWERS = """
DELETE FROM idempotency_keys
WHERE (merchant_id, key) IN (
    SELECT merchant_id, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2
)
"""


async def sweep_merchant_rows(tx: Connection, now: datetime) -> int:
    """Rows removed at the real time `now`; as many as _ROWS_AT_ONCE or more: sweep again."""
    done = [
        await tx.execute(_REMOVE_TOKENS, now, _ROWS_AT_ONCE),
        await tx.execute(_REMOVE_SECRETS, now),
        await tx.execute(_REMOVE_QUOTAS, now - timedelta(minutes=2)),
        await tx.execute(_REMOVE_KEPT_ANSWERS, now - KEPT_FOR, _ROWS_AT_ONCE),
    ]
    removed = sum(int(tag.rpartition(" ")[2]) for tag in done)
    return removed + await remove_attempts(tx, now)
