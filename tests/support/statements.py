"""A merchant with a bank account whose statements are imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dunwell.cases.statements.bank_accounts import save_bank_account
from dunwell.cases.statements.import_statements import get_file, import_next_file, submit_file
from dunwell.cases.statements.imported_file import ImportedFile
from dunwell.cases.statements.matches.assign_transactions import (
    OpenTransaction,
    list_open_transactions,
)
from dunwell.cases.statements.store import StatementAccount
from dunwell.core.claims.states import Status
from tests.support.bank_files import IBAN, build_camt, build_detail, build_entry
from tests.support.harness import Harness

ACCOUNT = StatementAccount("main", IBAN, "Muster GmbH")
_MATCHES = (
    "SELECT kind, rule, claim_id, amount_cents, match_id FROM bank_matches WHERE merchant_id = $1"
)
_STATES = """
SELECT state, matched_cents
FROM bank_transactions
WHERE merchant_id = $1
ORDER BY entry_id, number
"""


@dataclass
class StatementHarness:
    """Imports files for the harness's merchant."""

    harness: Harness

    async def save(self, account: StatementAccount = ACCOUNT) -> None:
        async with self.harness.work() as work:
            await save_bank_account(work, account)

    async def submit(self, content: bytes, account: str = "main") -> ImportedFile:
        async with self.harness.work() as work:
            keys = self.harness.resources.keys
            return await submit_file(work, keys, account, "statement.xml", content)

    async def load(self, content: bytes, account: str = "main") -> ImportedFile:
        """Import a file and return how it ended."""
        file = await self.submit(content, account)
        while await import_next_file(self.harness.resources):
            pass
        async with self.harness.work() as work:
            return await get_file(work, file.file_id)

    async def opened(self) -> Sequence[OpenTransaction]:
        async with self.harness.work() as work:
            return await list_open_transactions(work, "main")

    async def matches(self) -> list[Any]:
        return list(await self.harness.rows(_MATCHES))

    async def states(self) -> list[tuple[str, int]]:
        """Return the state and the matched cents of each transaction."""
        return [(row["state"], row["matched_cents"]) for row in await self.harness.rows(_STATES)]

    async def count(self, table: str) -> int:
        rows = await self.harness.rows(f"SELECT count(*) AS n FROM {table} WHERE merchant_id = $1")
        count: int = rows[0]["n"]
        return count

    async def balance(self, claim_id: int) -> tuple[Status, int, int]:
        """Return the claim's status, and the outstanding and overpaid cents."""
        claim = await self.harness.read(claim_id)
        return claim.status, claim.balance.outstanding_cents, claim.balance.overpaid_cents


def build_credit(amount: str, text: str, reference: str = "", **more: Any) -> str:
    """Return an entry with one payment that arrived."""
    return build_entry(amount, reference=reference, details=build_detail(amount, text), **more)


def build_file(*entries: str, message: str = "053") -> bytes:
    """Return a statement without balances."""
    return build_camt(*entries, message=message, balances="")
