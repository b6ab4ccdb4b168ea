"""List the statements of an account and their lines with what each belongs to, and count open
transactions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.formats.problems import list_holding_problems
from dunwell.cases.statements.listing.store import (
    StatementLine,
    count_open_rows,
    list_lines,
)
from dunwell.cases.statements.matches.store import BankMatch, list_matches
from dunwell.cases.statements.store import list_statement_rows
from dunwell.core.claims.lists.store import ClaimRow, load_claim_rows
from dunwell.platform.database.database import snapshot

MAX_COUNTED_OPEN = 1_000
_MAX_STATEMENTS = 50


@dataclass(frozen=True, slots=True)
class ListedStatement:
    statement_hash: bytes
    statement_id: str
    # STATEMENT, DETAILS or REPORT.
    kind: str
    period_from: date | None
    period_to: date | None
    opening_cents: int | None
    closing_cents: int | None
    currency: str | None
    entry_count: int
    problems: Sequence[str]
    # The codes of the problems because of which the statement is or was held; an earlier version
    # stored a sentence.
    held_reason: str | None
    released_at: datetime | None
    imported_at: datetime

    @property
    def is_held(self) -> bool:
        return self.held_reason is not None and self.released_at is None

    @property
    def holding_problems(self) -> Sequence[str]:
        """Why the statement is held."""
        return list_holding_problems(self.problems) or [self.held_reason or ""]

    @property
    def other_problems(self) -> Sequence[str]:
        holding = list_holding_problems(self.problems)
        return [each for each in self.problems if each not in holding]


async def list_statements(work: Work, account: str) -> list[ListedStatement]:
    """Return the newest statements of an account."""
    work.require(Right.READ_CLAIMS)
    rows = await list_statement_rows(work.tx, work.merchant_id, account, _MAX_STATEMENTS)
    return [ListedStatement(**row) for row in rows]


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """A line of a statement with the matches of its transaction that were not undone."""

    line: StatementLine
    matches: Sequence[BankMatch]


async def list_statement_lines(
    work: Work, account: str, statement_hash: bytes, after: tuple[int, int], *, limit: int
) -> list[MatchedLine]:
    """Return the lines of a statement after this place, in the bank's order."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        statement = (account, statement_hash)
        lines = await list_lines(work.tx, work.merchant_id, statement, after, limit=limit)
        entry_ids = {each.transaction.entry_id for each in lines if each.transaction is not None}
        matches = await list_matches(work.tx, work.merchant_id, sorted(entry_ids))
    undone = {each.undoes for each in matches}
    valid: dict[tuple[UUID, int], list[BankMatch]] = {}
    for each in matches:
        if each.kind == "MATCHED" and each.match_id not in undone:
            valid.setdefault((each.entry_id, each.number), []).append(each)
    return [
        MatchedLine(each, valid.get(each.transaction.key, ()) if each.transaction else ())
        for each in lines
    ]


async def count_open_transactions(work: Work, account: str) -> int:
    """Return how many transactions need a person, counted up to MAX_COUNTED_OPEN."""
    work.require(Right.READ_CLAIMS)
    return await count_open_rows(work.tx, work.merchant_id, account, MAX_COUNTED_OPEN)


async def load_claims_to_match(work: Work, claim_ids: Collection[int]) -> Mapping[int, ClaimRow]:
    """Return the claims that a transaction may belong to, with their balances."""
    work.require(Right.READ_CLAIMS)
    return await load_claim_rows(work.tx, work.merchant_id, sorted(claim_ids))
