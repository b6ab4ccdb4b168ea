"""Seal the ledger of contacts and the audit log. A seal covers a batch of rows and the previous
seal; its digest needs the secret key of the installation. A timer runs this.

Sealing writes no audit entry. A seal documents itself, and the entry would need a seal in turn.
"""

import structlog

from dunwell.contact.messages.ledger.ledger import (
    FIRST_PREVIOUS_DIGEST,
    SealParts,
    digest_row,
    digest_seal,
)
from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    SealHead,
    find_head,
    list_merchants_to_seal,
    load_unsealed,
    save_seal,
    try_lock_sealing,
)
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

SEAL_SECONDS = 5.0
BATCH_SIZE = 10_000

log = structlog.get_logger(__name__)


async def seal_ledger(resources: Resources) -> int:
    """Seal one batch for each merchant with unsealed rows. Return the number of merchants with more
    rows left."""
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_to_seal(connection)
    behind = 0
    for merchant_id in merchant_ids:
        try:
            behind += await seal_batch(resources, merchant_id) >= BATCH_SIZE
        except Unavailable:
            raise
        except Exception as error:
            # A fault of one merchant must not stop the sealing of the others.
            log.exception("ledger not sealed", merchant_id=merchant_id, error=type(error).__name__)
    return behind


async def seal_batch(resources: Resources, merchant_id: int) -> int:
    """Seal one batch of a merchant. Return the number of rows of the larger table, or 0 if there
    was nothing to seal or another worker is sealing."""
    async with resources.database.transaction() as tx:
        if not await try_lock_sealing(tx, merchant_id):
            return 0
        head = await find_head(tx, merchant_id) or SealHead(0, FIRST_PREVIOUS_DIGEST)
        version = max(head.key_version, resources.keys.version)
        seal, rows = head.seal + 1, {}
        for table in (CONTACTS, AUDITS):
            unsealed = await load_unsealed(
                tx, merchant_id, table=table, seal=seal, limit=BATCH_SIZE
            )
            rows[table] = [
                (
                    row.key,
                    digest_row(
                        resources.keys,
                        merchant_id,
                        table=table,
                        fields=row.fields,
                        key_version=version,
                    ),
                )
                for row in unsealed
            ]
        contacts, audits = rows[CONTACTS], rows[AUDITS]
        if not contacts and not audits:
            return 0
        parts = SealParts(seal, head.digest, [d for _, d in contacts], [d for _, d in audits])
        digest = digest_seal(resources.keys, merchant_id, parts, version)
        following = SealHead(seal, digest, version)
        now = resources.clock.now()
        await save_seal(
            tx, merchant_id, head=following, contacts=contacts, audits=audits, sealed_at=now
        )
        return max(len(contacts), len(audits))
