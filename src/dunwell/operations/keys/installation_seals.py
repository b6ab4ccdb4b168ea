"""Seals the installation's audit log with the digests of a merchant's ledger (decision 0007), as a
chain of its own, and verifies it. Sealing is run by a timer and writes no audit row.
"""

from dunwell.contact.messages.ledger.ledger import BEGINNING, SealParts, digest_row, digest_seal
from dunwell.contact.messages.ledger.store import SealHead
from dunwell.contact.messages.ledger.verify_ledger import LedgerVerdict, check_chain
from dunwell.operations.keys.store import (
    TABLE,
    count_unsealed,
    load_head,
    load_sealed,
    load_seals,
    load_unsealed,
    lock_sealing,
    save_seal,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.resources import Resources

_BATCH_SIZE = 10_000
# No merchant's: theirs begin with 1.
_OWNER = 0


async def seal_installation(resources: Resources) -> int:
    """One batch; how many rows it took, 0 when there was nothing or somebody else is at it."""
    keys = resources.keys
    async with resources.database.transaction() as tx:
        if not await lock_sealing(tx):
            return 0
        head = await load_head(tx) or SealHead(0, BEGINNING)
        version, number = max(head.key_version, keys.version), head.seal + 1
        audits = [
            (row.key, digest_row(keys, _OWNER, table=TABLE, fields=row.fields, key_version=version))
            for row in await load_unsealed(tx, number, _BATCH_SIZE)
        ]
        if not audits:
            return 0
        parts = SealParts(number, head.digest, [], [digest for _, digest in audits])
        following = SealHead(number, digest_seal(keys, _OWNER, parts, version), version)
        await save_seal(tx, following, audits, resources.clock.now())
        return len(audits)


async def verify_installation(
    resources: Resources, expected: SealHead | None = None
) -> LedgerVerdict:
    """`expected`: a head that was kept elsewhere. The verdict's key is empty: it is no merchant's.
    Nothing is changed."""
    async with resources.database.connection() as connection, snapshot(connection):
        rows = {TABLE: load_sealed(connection)}
        seals = load_seals(connection)
        chain = await check_chain(resources.keys, _OWNER, seals=seals, rows=rows, expected=expected)
        unsealed = await count_unsealed(connection)
    found = chain.findings
    return LedgerVerdict(
        merchant_key="",
        head=chain.head,
        sealed_rows=chain.rows,
        unsealed_rows=unsealed,
        findings=tuple(found.listed),
        fault_count=found.count,
    )
