"""Seals the ledger of contacts and the audit log: each seal covers a batch of rows and the seal
before it, with a digest that nobody can make without the installation's key. Run by a timer.

A seal writes no audit row: it is the record of itself, and would have to be sealed in turn.
"""

import structlog

from dunwell.contact.messages.ledger.ledger import BEGINNING, SealParts, digest_row, digest_seal
from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    SealHead,
    find_merchants_to_seal,
    load_head,
    load_unsealed,
    lock_sealing,
    save_seal,
)
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

SEAL_SECONDS = 5.0
BATCH_SIZE = 10_000

log = structlog.get_logger(__name__)


async def seal_ledger(resources: Resources) -> int:
    """One batch for each merchant with something to seal; how many of them have more."""
    async with resources.database.connection() as connection:
        merchant_ids = await find_merchants_to_seal(connection)
    behind = 0
    for merchant_id in merchant_ids:
        try:
            behind += await seal_batch(resources, merchant_id) >= BATCH_SIZE
        except Unavailable:
            raise
        except Exception as error:
            # One merchant's fault must not keep the others' ledgers from being sealed.
            log.exception("cannot seal", merchant_id=merchant_id, error=type(error).__name__)
    return behind


async def seal_batch(resources: Resources, merchant_id: int) -> int:
    """Seal one batch of one merchant; how many rows of the fuller table it took, 0 when there was
    nothing to seal or somebody else is at it."""
    async with resources.database.transaction() as tx:
        if not await lock_sealing(tx, merchant_id):
            return 0
        head = await load_head(tx, merchant_id) or SealHead(0, BEGINNING)
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
