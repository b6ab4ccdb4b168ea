"""The ledger of a merchant: its entries, the findings of its verification, and functions that
tamper with it."""

from typing import Any

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.contact.messages.ledger.verify_ledger import LedgerVerdict, verify_ledger
from tests.support.harness import Harness

_TOLD = """
SELECT outcome, step_id, place, channel, attempts FROM contact_ledger WHERE merchant_id = $1
ORDER BY at, entry_id
"""
# All columns except the keys and those that sealing writes.
COLUMNS = """
communication_id, claim_id, run, step_id, place, channel, outcome, attempts, at, recipient_digest,
content_digest
"""


async def list_entries(harness: Harness) -> list[tuple[Any, ...]]:
    """Return (outcome, step, place, channel, attempts) of each row."""
    return [tuple(row) for row in await harness.rows(_TOLD)]


async def outcomes(harness: Harness) -> list[str]:
    return [row[0] for row in await list_entries(harness)]


async def verify(harness: Harness) -> LedgerVerdict:
    return await verify_ledger(harness.resources, harness.merchant.merchant_id)


async def seal_and_verify(harness: Harness) -> LedgerVerdict:
    await seal_ledger(harness.resources)
    return await verify(harness)


async def faults(harness: Harness) -> list[str]:
    """Return the kinds of the findings in order."""
    return [str(finding.fault) for finding in (await verify(harness)).findings]


async def tamper(harness: Harness, statement: str, *values: object) -> None:
    """Change rows, as an attacker with the database password could. $1 is the merchant."""
    async with harness.resources.database.transaction() as tx:
        done = await tx.execute(statement, harness.merchant.merchant_id, *values)
    assert done.endswith(" 0") is False, "the statement touched nothing"
