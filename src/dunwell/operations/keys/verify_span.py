"""Verifies a part of a merchant's chain of seals: those of a page of the audit log, each against
its rows and the seal before it. The whole chain is `contact.messages.ledger.verify_ledger`'s.
"""

from dataclasses import dataclass
from typing import Literal

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.ledger.ledger import BEGINNING, LedgerFinding
from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    SealHead,
    load_sealed_of,
    load_seals_of,
    measure_span,
)
from dunwell.contact.messages.ledger.verify_ledger import check_chain
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import snapshot

# What one page may ask for: some seconds at most.
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class SpanVerdict:
    """`outcome`: SOUND, FAULTY, or TOO_MUCH: more rows than a page may ask for, and nothing was
    checked. `rows`: how many were checked, of contacts and of the audit log."""

    outcome: Literal["SOUND", "FAULTY", "TOO_MUCH"]
    first: int
    last: int
    rows: int
    findings: tuple[LedgerFinding, ...] = ()
    fault_count: int = 0


async def verify_span(work: Work, keys: KeyRing, first: int, last: int) -> SpanVerdict:
    """From the seal `first` to the seal `last`, both included."""
    work.need(Right.AUDIT)
    tx, merchant_id = work.tx, work.merchant_id
    async with snapshot(tx):
        rows, before = await measure_span(tx, merchant_id, first, last)
        if rows > MOST_ROWS:
            return SpanVerdict("TOO_MUCH", first, last, rows)
        start = before or SealHead(first - 1, BEGINNING)
        chain = await check_chain(
            keys,
            merchant_id,
            seals=load_seals_of(tx, merchant_id, first, last),
            rows={
                t: load_sealed_of(tx, merchant_id, table=t, first=first, last=last)
                for t in (CONTACTS, AUDITS)
            },
            expected=None,
            previous=start,
        )
    found = chain.findings
    outcome: Literal["SOUND", "FAULTY"] = "FAULTY" if found.count else "SOUND"
    return SpanVerdict(
        outcome,
        first,
        last=last,
        rows=chain.rows,
        findings=tuple(found.listed),
        fault_count=found.count,
    )
