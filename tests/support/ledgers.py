"""The ledger of a merchant: its entries, the findings of its verification, and functions that
tamper with it."""

from typing import Any

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.contact.messages.ledger.verify_ledger import LedgerVerdict, verify_ledger
from tests.support.house import House

_TOLD = """
SELECT outcome, step_id, place, channel, attempts FROM contact_ledger WHERE merchant_id = $1
ORDER BY at, entry_id
"""
# All columns except the keys and those that sealing writes.
COLUMNS = """
communication_id, claim_id, run, step_id, place, channel, outcome, attempts, at, recipient_digest,
content_digest
"""


async def told(house: House) -> list[tuple[Any, ...]]:
    """Return (outcome, step, place, channel, attempts) of each row."""
    return [tuple(row) for row in await house.rows(_TOLD)]


async def outcomes(house: House) -> list[str]:
    return [row[0] for row in await told(house)]


async def verify(house: House) -> LedgerVerdict:
    return await verify_ledger(house.resources, house.merchant.merchant_id)


async def seal_and_verify(house: House) -> LedgerVerdict:
    await seal_ledger(house.resources)
    return await verify(house)


async def faults(house: House) -> list[str]:
    """Return the kinds of the findings in order."""
    return [str(finding.fault) for finding in (await verify(house)).findings]


async def tamper(house: House, statement: str, *values: object) -> None:
    """Change rows as somebody with the database password could. $1 is the merchant."""
    async with house.resources.database.transaction() as tx:
        done = await tx.execute(statement, house.merchant.merchant_id, *values)
    assert done.endswith(" 0") is False, "the statement touched nothing"
