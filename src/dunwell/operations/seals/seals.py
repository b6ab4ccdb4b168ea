"""Seal the installation's audit log, and verify seals: the whole chain, the part behind a page of
the audit log, or the seal that covers one message.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.ledger.seal_ledger import (
    FIRST_PREVIOUS_DIGEST,
    SealParts,
    digest_row,
    digest_seal,
)
from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    SealHead,
    measure_range,
    stream_seal_range,
    stream_sealed_rows_of_range,
)
from dunwell.contact.messages.ledger.verify_ledger import LedgerFinding, LedgerVerdict, verify_chain
from dunwell.operations.seals.store import (
    TABLE,
    count_unsealed,
    load_head,
    load_sealed,
    load_seals,
    load_unsealed,
    save_seal,
    try_lock_sealing,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.resources import Resources

_BATCH_SIZE = 10_000
# The owner of the installation's chain in place of a merchant: ids of merchants start at 1.
_OWNER = 0


async def seal_installation(resources: Resources) -> int:
    """Seal one batch. Return its number of rows, or 0 if there was nothing to seal or another
    worker is sealing."""
    keys = resources.keys
    async with resources.database.transaction() as tx:
        if not await try_lock_sealing(tx):
            return 0
        head = await load_head(tx) or SealHead(0, FIRST_PREVIOUS_DIGEST)
        version, number = max(head.key_version, keys.version), head.seal + 1
        audits = [
            (row.key, digest_row(keys, _OWNER, table=TABLE, fields=row.fields, key_version=version))
            for row in await load_unsealed(tx, number, _BATCH_SIZE)
        ]
        if not audits:
            return 0
        parts = SealParts(number, head.digest, [], [digest for _, digest in audits])
        new_head = SealHead(number, digest_seal(keys, _OWNER, parts, version), version)
        await save_seal(tx, new_head, audits, resources.clock.now())
        return len(audits)


async def verify_installation_seals(
    resources: Resources, expected: SealHead | None = None
) -> LedgerVerdict:
    """Verify the whole chain without changing anything. `expected` is a head that was kept
    elsewhere. The verdict's key is empty, because the chain belongs to no merchant."""
    async with resources.database.connection() as connection, snapshot(connection):
        rows = {TABLE: load_sealed(connection)}
        seals = load_seals(connection)
        chain = await verify_chain(
            resources.keys, _OWNER, seals=seals, rows=rows, expected=expected
        )
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


# The maximum number of rows that are checked for one page, which takes some seconds.
MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class SealRangeVerdict:
    """The result for a range of seals. `outcome` is SOUND, FAULTY, or TOO_MUCH (too many rows for
    one page; nothing was checked). `rows` counts the rows of contacts and of the audit log that
    were checked, or for TOO_MUCH would have been."""

    outcome: Literal["SOUND", "FAULTY", "TOO_MUCH"]
    first: int
    last: int
    rows: int
    findings: tuple[LedgerFinding, ...] = ()
    fault_count: int = 0


async def verify_seal_range(work: Work, keys: KeyRing, first: int, last: int) -> SealRangeVerdict:
    """Verify the seals from `first` to `last`, both included. Return the outcome TOO_MUCH if they
    cover more than `MAX_ROWS` rows."""
    work.require(Right.AUDIT)
    tx, merchant_id = work.tx, work.merchant_id
    async with snapshot(tx):
        rows, before = await measure_range(tx, merchant_id, first, last)
        if rows > MAX_ROWS:
            return SealRangeVerdict("TOO_MUCH", first, last, rows)
        start = before or SealHead(first - 1, FIRST_PREVIOUS_DIGEST)
        chain = await verify_chain(
            keys,
            merchant_id,
            seals=stream_seal_range(tx, merchant_id, first, last),
            rows={
                t: stream_sealed_rows_of_range(tx, merchant_id, table=t, first=first, last=last)
                for t in (CONTACTS, AUDITS)
            },
            expected=None,
            previous=start,
        )
    found = chain.findings
    outcome: Literal["SOUND", "FAULTY"] = "FAULTY" if found.count else "SOUND"
    return SealRangeVerdict(
        outcome,
        first,
        last=last,
        rows=chain.rows,
        findings=tuple(found.listed),
        fault_count=found.count,
    )


# Uses the primary key, and contact_ledger_once.
_FIND_CONTACT_SEAL = """
SELECT l.seal, s.sealed_at
FROM communications m
JOIN contact_ledger l ON l.merchant_id = m.merchant_id AND l.claim_id = m.claim_id
    AND l.run = m.run AND l.step_id = m.step_id AND l.place = m.place
    AND l.outcome IN ('ACCEPTED', 'SETTLED_SENT')
LEFT JOIN ledger_seals s ON s.merchant_id = l.merchant_id AND s.seal = l.seal
WHERE m.merchant_id = $1 AND m.communication_id = $2
"""


@dataclass(frozen=True, slots=True)
class ContactSeal:
    """The seal of a message's ledger entry. `seal` is None for the seconds until the entry is
    sealed."""

    seal: int | None
    sealed_at: datetime | None


async def find_contact_seal(work: Work, communication_id: UUID) -> ContactSeal | None:
    """Find the seal of a message. Return None if the ledger has no entry that it was sent."""
    work.require(Right.READ_CLAIMS)
    return await load_seal(work.tx, work.merchant_id, communication_id)


async def load_seal(tx: Connection, merchant_id: int, communication_id: UUID) -> ContactSeal | None:
    """Return the seal of a message, None if the ledger has no entry that it was sent."""
    row = await tx.fetchrow(_FIND_CONTACT_SEAL, merchant_id, communication_id)
    return None if row is None else ContactSeal(**row)
