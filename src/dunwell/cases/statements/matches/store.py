"""The SQL of transactions on statements, of what they belong to, and of the claims that they may
belong to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.cases.statements.formats.coded_text import CodedText, dump_text
from dunwell.cases.statements.formats.problems import load_problem
from dunwell.cases.statements.match_reasons import load_reason
from dunwell.cases.statements.matching import CandidateClaim
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class BankTransaction:
    """A transaction of a booked entry: a payment, a payout, a return, or other money."""

    entry_id: UUID
    number: int
    account: str
    # Positive for money that arrived.
    amount_cents: int
    currency: str
    booked_on: date
    # NEW, HELD, OPEN, MATCHED, PAYOUT, RETURNED or WITHOUT_CLAIM.
    state: str
    # The part of the amount that was matched, without a sign.
    matched_cents: int
    # Whether a person has decided about it, so that the rules leave it alone.
    is_decided: bool
    end_to_end_id: str | None
    mandate_id: str | None
    references_text: str
    remittance_text: str
    counterparty_name: str | None
    counterparty_iban_shown: str | None
    counterparty_digest: bytes | None
    return_reason: str | None
    # The day of another entry with the same reference and amount, which may be the same payment.
    resembles_on: date | None
    # Why the matching failed and left the transaction to a person: a `CodedText`.
    problem: str | None

    @property
    def key(self) -> tuple[UUID, int]:
        return self.entry_id, self.number

    @property
    def left_cents(self) -> int:
        """The part of the amount that does not belong to anything yet."""
        return abs(self.amount_cents) - self.matched_cents


@dataclass(frozen=True, slots=True)
class BankMatch:
    """What a transaction belongs to, or (kind UNDONE) that an earlier match was undone."""

    match_id: UUID
    # MATCHED or UNDONE.
    kind: str
    entry_id: UUID
    number: int
    # Without a sign.
    amount_cents: int
    # A `MatchRule`.
    rule: str
    # A `CodedText`, or what a person wrote.
    explanation: str
    claim_id: int | None = None
    payment_id: UUID | None = None
    payout_provider: str | None = None
    payout_id: str | None = None
    # The match that this one (kind UNDONE) undoes.
    undoes: UUID | None = None


_COLUMNS = ", ".join(f"t.{each.name}" for each in fields(BankTransaction))
# Uses bank_transactions_new.
_LIST_NEW = compose(
    """
SELECT {columns}
FROM bank_transactions t
WHERE t.merchant_id = $1 AND t.account = $2 AND t.state = 'NEW'
ORDER BY t.entry_id, t.number
LIMIT $3
""",
    columns=_COLUMNS,
)
# The accounts of all merchants that have transactions to match. Uses bank_transactions_new.
_LIST_ACCOUNTS_WITH_NEW = """
SELECT DISTINCT merchant_id, account
FROM bank_transactions
WHERE state = 'NEW'
LIMIT $1
"""
# Uses bank_transactions_open.
_LIST_OPEN = compose(
    """
SELECT {columns}
FROM bank_transactions t
WHERE t.merchant_id = $1 AND t.account = $2 AND t.state = 'OPEN'
ORDER BY t.booked_on, t.entry_id, t.number
LIMIT $3
""",
    columns=_COLUMNS,
)
# Uses the primary key.
_LOAD = compose(
    """
SELECT {columns}
FROM bank_transactions t
WHERE t.merchant_id = $1 AND (t.entry_id, t.number) IN (
    SELECT * FROM unnest($2::uuid[], $3::integer[]))
""",
    columns=_COLUMNS,
)
_LOCK = compose("{load}ORDER BY t.entry_id, t.number\nFOR NO KEY UPDATE", load=_LOAD)
# Sets the state of transactions that no other worker and no person has decided about in the
# meantime.
_SAVE_STATES = """
UPDATE bank_transactions t
SET state = s.state, matched_cents = t.matched_cents + s.cents, problem = NULL
FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::bigint[])
    AS s (entry_id, number, state, cents)
WHERE t.merchant_id = $1 AND t.entry_id = s.entry_id AND t.number = s.number AND t.state = $6
  AND NOT t.is_decided
RETURNING t.entry_id, t.number
"""
# Opens a new transaction for a person.
_SAVE_PROBLEM = """
UPDATE bank_transactions
SET state = 'OPEN', problem = $4::text::jsonb
WHERE merchant_id = $1 AND entry_id = $2 AND number = $3 AND state = 'NEW' AND NOT is_decided
RETURNING true
"""
# Counts matched transactions at the files that brought their entries. Files are locked after the
# claims, in one order.
_COUNT_MATCHED = """
WITH matched AS (
    SELECT e.file_id, count(*) AS transactions
    FROM unnest($2::uuid[]) AS t (entry_id)
    JOIN bank_entries e ON e.merchant_id = $1 AND e.entry_id = t.entry_id
    WHERE e.file_id IS NOT NULL
    GROUP BY e.file_id
), locked AS MATERIALIZED (
    SELECT file_id
    FROM bank_files
    WHERE merchant_id = $1 AND file_id IN (SELECT file_id FROM matched)
    ORDER BY file_id
    FOR NO KEY UPDATE
)
UPDATE bank_files f
SET matched_count = f.matched_count + matched.transactions
FROM locked JOIN matched USING (file_id)
WHERE f.merchant_id = $1 AND f.file_id = locked.file_id
"""
# Saves the decision of a person. The transaction must be locked.
_SAVE_DECISION = """
UPDATE bank_transactions
SET state = $4, matched_cents = $5, is_decided = true
WHERE merchant_id = $1 AND entry_id = $2 AND number = $3
"""
_INSERT_MATCHES = """
INSERT INTO bank_matches
    (merchant_id, match_id, kind, entry_id, number, undoes, claim_id, payment_id, payout_provider,
     payout_id, amount_cents, rule, reason, actor_kind, actor_id, matched_at)
SELECT $1, match_id, kind, entry_id, number, undoes, claim_id, payment_id, payout_provider,
       payout_id, amount_cents, rule, reason::jsonb, $2, $3, $4
FROM unnest($5::uuid[], $6::text[], $7::uuid[], $8::integer[], $9::bigint[], $10::text[],
            $11::text[], $12::bigint[], $13::uuid[], $14::text[], $15::text[], $16::uuid[])
    AS m (match_id, kind, entry_id, number, amount_cents, rule, reason, claim_id, payment_id,
          payout_provider, payout_id, undoes)
"""
_MATCH_COLUMNS = tuple(each.name for each in fields(BankMatch))
# A match of an earlier version has a sentence instead of a reason.
_REASON = "coalesce(m.reason, to_jsonb(m.explanation)) AS explanation"
_MATCH_LIST = ", ".join(
    _REASON if name == "explanation" else f"m.{name}" for name in _MATCH_COLUMNS
)
_FIND_MATCH = compose(
    """
SELECT {columns}
FROM bank_matches m
WHERE m.merchant_id = $1 AND m.match_id = $2
""",
    columns=_MATCH_LIST,
)
# Uses bank_matches_claim, then bank_matches_undone.
_FIND_MATCH_OF_PAYMENT = compose(
    """
SELECT {columns}
FROM bank_matches m
WHERE m.merchant_id = $1 AND m.claim_id = $2 AND m.payment_id = $3 AND m.kind = 'MATCHED'
  AND m.rule <> 'RETURN'
  AND NOT EXISTS (SELECT FROM bank_matches u WHERE u.merchant_id = $1 AND u.undoes = m.match_id)
""",
    columns=_MATCH_LIST,
)
# Uses bank_matches_undone.
_IS_UNDONE = "SELECT EXISTS (SELECT FROM bank_matches WHERE merchant_id = $1 AND undoes = $2)"
# Uses bank_matches_transaction.
_LIST_MATCHES = compose(
    """
SELECT {columns}
FROM bank_matches m
WHERE m.merchant_id = $1 AND m.entry_id = ANY($2::uuid[])
ORDER BY m.matched_at, m.match_id
""",
    columns=_MATCH_LIST,
)
# The claims of the reference numbers as they were written, and in their normal form. Uses
# claims_reference and claim_search_terms.
_FIND_BY_REFERENCE = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND reference_number = ANY($2::text[])
UNION
SELECT s.claim_id
FROM unnest($3::text[]) AS n (term)
CROSS JOIN LATERAL (
    SELECT claim_id
    FROM claim_search
    WHERE merchant_id = $1 AND term = n.term
    LIMIT $4) s
"""
# Uses claims_reference.
_LIST_BY_REFERENCE = """
SELECT claim_id, reference_number, currency
FROM claims
WHERE merchant_id = $1 AND reference_number = ANY($2::text[])
"""
# Uses primary keys.
_LOAD_CANDIDATES = """
SELECT c.claim_id, c.reference_number, c.currency, c.status, d.customer_number,
       (SELECT coalesce(sum(value_cents), 0)::bigint
        FROM items WHERE merchant_id = $1 AND claim_id = c.claim_id)
       - (SELECT coalesce(sum(amount_cents), 0)::bigint
          FROM allocations WHERE merchant_id = $1 AND claim_id = c.claim_id) AS outstanding_cents
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
"""
# Uses debtors_customer.
_FIND_OF_CUSTOMERS = """
SELECT d.claim_id
FROM debtors d
WHERE d.merchant_id = $1 AND d.customer_number = ANY($2::text[])
LIMIT $3
"""
# Per normal form; more claims than this could not be distinguished anyway.
_SAME_TERM_LIMIT = 5
_CUSTOMER_LIMIT = 200


async def list_new_transactions(
    tx: Connection, merchant_id: int, account: str, limit: int
) -> list[BankTransaction]:
    rows = await tx.fetch(_LIST_NEW, merchant_id, account, limit)
    return [build_transaction(row) for row in rows]


async def list_accounts_with_new(tx: Connection, limit: int) -> list[tuple[int, str]]:
    """Return merchants and accounts that have transactions to match."""
    rows = await tx.fetch(_LIST_ACCOUNTS_WITH_NEW, limit)
    return [(row["merchant_id"], row["account"]) for row in rows]


async def list_open_rows(
    tx: Connection, merchant_id: int, account: str, limit: int
) -> list[BankTransaction]:
    """Return the transactions that need a person, the oldest first."""
    rows = await tx.fetch(_LIST_OPEN, merchant_id, account, limit)
    return [build_transaction(row) for row in rows]


async def lock_transactions(
    tx: Connection, merchant_id: int, keys: Collection[tuple[UUID, int]]
) -> dict[tuple[UUID, int], BankTransaction]:
    """Lock the transactions and return those that exist. Their claims must be locked before."""
    return await load_transactions(tx, merchant_id, keys, statement=_LOCK)


async def load_transactions(
    tx: Connection, merchant_id: int, keys: Collection[tuple[UUID, int]], *, statement: str = _LOAD
) -> dict[tuple[UUID, int], BankTransaction]:
    rows = await tx.fetch(
        statement, merchant_id, [entry for entry, _ in keys], [number for _, number in keys]
    )
    return {(row["entry_id"], row["number"]): build_transaction(row) for row in rows}


def build_transaction(row: Mapping[str, Any]) -> BankTransaction:
    """Return the transaction of a row with its columns."""
    problem = row["problem"]
    values = {**row, "problem": None if problem is None else load_problem(problem)}
    return BankTransaction(**values)


async def save_problem(
    tx: Connection, merchant_id: int, key: tuple[UUID, int], problem: CodedText
) -> bool:
    """Open a transaction for a person because of this problem. Return False if the transaction is
    no longer new."""
    stored = msgspec.json.encode(dump_text(problem)).decode()
    return await tx.fetchval(_SAVE_PROBLEM, merchant_id, *key, stored) is not None


async def save_states(
    tx: Connection, merchant_id: int, states: Mapping[tuple[UUID, int], tuple[str, int]], *,
    before: str,
) -> frozenset[tuple[UUID, int]]:  # fmt: skip
    """Save the state of transactions and their matched cents. Return the transactions that still
    had the state `before` and that no person had decided about."""
    rows = await tx.fetch(
        _SAVE_STATES, merchant_id, [entry for entry, _ in states], [number for _, number in states],
        [state for state, _ in states.values()], [cents for _, cents in states.values()], before,
    )  # fmt: skip
    return frozenset((row["entry_id"], row["number"]) for row in rows)


async def count_matched(tx: Connection, merchant_id: int, entry_ids: Sequence[UUID]) -> None:
    """Add matched transactions, one for each of these ids of their entries, to the counts of the
    files that brought them."""
    if entry_ids:
        await tx.execute(_COUNT_MATCHED, merchant_id, list(entry_ids))


async def save_decision(
    tx: Connection, merchant_id: int, key: tuple[UUID, int], state: str, *, matched_cents: int
) -> None:
    """Save what a person decided about a locked transaction."""
    await tx.execute(_SAVE_DECISION, merchant_id, *key, state, matched_cents)


async def insert_matches(
    tx: Connection, merchant_id: int, matches: Sequence[BankMatch], *,
    actor: tuple[str, str | None], now: datetime,
) -> None:  # fmt: skip
    """Insert matches. `actor` has the kind and the id of the user or system that made them."""
    if matches:
        columns = {name: [getattr(each, name) for each in matches] for name in _MATCH_COLUMNS}
        columns["explanation"] = [_encode_reason(each.explanation) for each in matches]
        await tx.execute(_INSERT_MATCHES, merchant_id, *actor, now, *columns.values())


def _encode_reason(explanation: str) -> str:
    return msgspec.json.encode(dump_text(explanation)).decode()


def _build_match(row: Row) -> BankMatch:
    values = {**row, "explanation": load_reason(row["explanation"])}
    return BankMatch(**values)


async def find_match(tx: Connection, merchant_id: int, match_id: UUID) -> BankMatch | None:
    row = await tx.fetchrow(_FIND_MATCH, merchant_id, match_id)
    return None if row is None else _build_match(row)


async def find_match_of_payment(
    tx: Connection, merchant_id: int, claim_id: int, payment_id: UUID
) -> BankMatch | None:
    """Return the match that booked the payment and was not undone."""
    row = await tx.fetchrow(_FIND_MATCH_OF_PAYMENT, merchant_id, claim_id, payment_id)
    return None if row is None else _build_match(row)


async def is_undone(tx: Connection, merchant_id: int, match_id: UUID) -> bool:
    undone: bool = await tx.fetchval(_IS_UNDONE, merchant_id, match_id)
    return undone


async def list_matches(
    tx: Connection, merchant_id: int, entry_ids: Sequence[UUID]
) -> list[BankMatch]:
    """Return the matches of entries in the order in which they were made."""
    rows = await tx.fetch(_LIST_MATCHES, merchant_id, list(entry_ids))
    return [_build_match(row) for row in rows]


async def find_claims_by_reference(
    tx: Connection, merchant_id: int, whole: Collection[str], normal: Collection[str]
) -> list[int]:
    """Return the claims whose reference number is one of `whole`, or has one of the forms `normal`.
    Other words of a claim can be equal to a normal form, so the claims are candidates only."""
    rows = await tx.fetch(
        _FIND_BY_REFERENCE, merchant_id, sorted(whole), sorted(normal), _SAME_TERM_LIMIT
    )
    return [row["claim_id"] for row in rows]


@dataclass(frozen=True, slots=True)
class NamedClaim:
    """A claim whose whole reference number is in a text."""

    claim_id: int
    reference_number: str
    currency: str


async def list_claims_by_reference(
    tx: Connection, merchant_id: int, references: Collection[str]
) -> list[NamedClaim]:
    """Return the claims with one of these reference numbers."""
    rows = await tx.fetch(_LIST_BY_REFERENCE, merchant_id, sorted(references))
    return [NamedClaim(*row) for row in rows]


async def load_candidates(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, CandidateClaim]:
    """Return the claims with what they owe."""
    found = {}
    for row in await tx.fetch(_LOAD_CANDIDATES, merchant_id, sorted(claim_ids)):
        values = {**row, "status": Status(row["status"])}
        found[row["claim_id"]] = CandidateClaim(**values)
    return found


async def find_claims_of_customers(
    tx: Connection, merchant_id: int, customer_numbers: Collection[str]
) -> list[int]:
    rows = await tx.fetch(
        _FIND_OF_CUSTOMERS, merchant_id, sorted(customer_numbers), _CUSTOMER_LIMIT
    )
    return [row["claim_id"] for row in rows]
