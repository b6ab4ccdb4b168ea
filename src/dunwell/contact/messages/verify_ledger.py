"""Verifies a merchant's ledger: its chain of seals, and the contacts it tells of. One snapshot is
streamed and nothing is changed; sealing and sending may go on meanwhile.
"""

from dataclasses import dataclass

from dunwell.accounts.merchants.store import load_merchant, load_merchants_page
from dunwell.contact.messages.check_contacts import check_contacts
from dunwell.contact.messages.check_seals import check_seals
from dunwell.contact.messages.ledger_findings import Finding
from dunwell.contact.messages.ledger_store import Head, count_unsealed
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

_MERCHANTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Verdict:
    merchant_key: str
    # The newest seal, to be kept elsewhere; none before the first.
    head: Head | None
    sealed_rows: int
    # Rows that no seal covers yet.
    unsealed_rows: int
    # The first of them; `fault_count` is all.
    findings: tuple[Finding, ...]
    fault_count: int

    @property
    def is_sound(self) -> bool:
        return self.fault_count == 0


async def verify_ledger(
    resources: Resources, merchant_id: int, expected: Head | None = None
) -> Verdict:
    """`expected`: a head that was kept elsewhere; a chain that has lost it was cut or made anew.
    Raises NotFound."""
    keys = resources.keys
    async with resources.database.connection() as connection, snapshot(connection):
        merchant = await load_merchant(connection, merchant_id)
        if merchant is None:
            raise NotFound(f"There is no merchant {merchant_id}.")
        chain = await check_seals(connection, keys, merchant_id, expected)
        await check_contacts(connection, keys, merchant_id, chain.findings)
        unsealed = await count_unsealed(connection, merchant_id)
    found = chain.findings
    return Verdict(
        merchant_key=merchant.key,
        head=chain.head,
        sealed_rows=chain.rows,
        unsealed_rows=unsealed,
        findings=tuple(found.listed),
        fault_count=found.count,
    )


async def list_merchant_ids(resources: Resources) -> list[int]:
    """All of them, for those who verify every ledger."""
    found: list[int] = []
    async with resources.database.connection() as connection:
        while page := await load_merchants_page(
            connection, found[-1] if found else 0, _MERCHANTS_AT_ONCE
        ):
            found += [merchant.merchant_id for merchant in page]
    return found
