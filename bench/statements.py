"""A statement of 5,000 entries is imported, matched and booked in a database with 1,000,000 claims:
the seconds from the file's bytes until the last payment is booked.

The reference stores the rows of the last import once more: its entries, transactions, payments,
allocations and matches are copied, deleted, and inserted from the copies, one statement for each
table, with all indexes and constraints and one commit.
"""

import random
import time
from uuid import UUID

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant
from bench.rounds import Scale
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.cases.statements.bank_accounts import save_bank_account
from dunwell.cases.statements.import_statements import get_file, import_next_file, submit_file
from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.store import StatementAccount
from dunwell.platform.database.database import Connection

_CLAIMS, _ENTRIES, _GOAL_SECONDS = 1_000_000, 5_000, 3.0
_IBAN, _PAYER = "DE89370400440532013000", "DE02120300000000202051"
_FILL = """
SET session_replication_role = replica;
SET synchronous_commit = off;
INSERT INTO claims (merchant_id, claim_id, reference_number, currency, status, created_at,
                    updated_at)
SELECT {merchant_id}, n, 'INV-2026-' || lpad(n::text, 7, '0'), 'EUR', 'CREATED', now(), now()
FROM generate_series(1, {claims}) n;
INSERT INTO debtors (merchant_id, claim_id, last_name, customer_number)
SELECT {merchant_id}, n, 'Muster', 'C-' || n / 5 FROM generate_series(1, {claims}) n;
INSERT INTO items (merchant_id, claim_id, position, type, value_cents)
SELECT {merchant_id}, n, 0, 'PRIMARY', 10240 FROM generate_series(1, {claims}) n;
INSERT INTO claim_search (merchant_id, claim_id, term)
SELECT {merchant_id}, n, term
FROM generate_series(1, {claims}) n,
     unnest(ARRAY['inv-2026-' || lpad(n::text, 7, '0'), '1nv2026' || lpad(n::text, 7, '0'),
                  'muster', n::text]) AS t (term);
RESET session_replication_role;
RESET synchronous_commit
"""
# Tables of an import, in the order of their foreign keys, with the rows of one file.
_TABLES = {
    "bank_entries": "file_id = $2",
    "bank_transactions": "entry_id IN (SELECT entry_id FROM copied_bank_entries)",
    "payments": """payment_id IN (
        SELECT payment_id FROM bank_matches
        WHERE merchant_id = $1 AND entry_id IN (SELECT entry_id FROM copied_bank_entries))""",
    "allocations": "payment_id IN (SELECT payment_id FROM copied_payments)",
    "bank_matches": "entry_id IN (SELECT entry_id FROM copied_bank_entries)",
}


def build_file(first: int, count: int, claims: int) -> bytes:
    """Return a camt.053 file. Of its payments, 80 % have the whole reference and the amount, 10 %
    pay a part, 5 % have a damaged reference, and 5 % name no claim."""
    chosen = random.Random(first).sample(range(1, claims + 1), count)
    entries = []
    for place, number in enumerate(chosen):
        amount, text = "102.40", f"Rechnung INV-2026-{number:07} vielen Dank"
        if place % 20 < 2:
            amount = "50.00"
        elif place % 20 == 2:
            text = f"inv 2026 {number:07}"
        elif place % 20 == 3:
            text = "Ihre Rechnung vom letzten Monat"
        entries.append(
            f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>'
            "<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt>"
            f"<AcctSvcrRef>B{first}-{place}</AcctSvcrRef><NtryDtls><TxDtls><Refs>"
            f'<EndToEndId>E{first}-{place}</EndToEndId></Refs><Amt Ccy="EUR">{amount}</Amt>'
            "<CdtDbtInd>CRDT</CdtDbtInd><RltdPties><Dbtr><Pty><Nm>Erika Muster</Nm></Pty></Dbtr>"
            f"<DbtrAcct><Id><IBAN>{_PAYER}</IBAN></Id></DbtrAcct></RltdPties>"
            f"<RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>'
        f"<Stmt><Id>S-{first}</Id><Acct><Id><IBAN>{_IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
        f"{''.join(entries)}</Stmt></BkToCstmrStmt></Document>"
    ).encode()


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, None)
    claims, entries = scale.rows(_CLAIMS), scale.rows(_ENTRIES)
    await _fill(ground, bench, claims)
    async with bench.resources.database.transaction() as tx:
        await save_bank_account(_open(bench, tx), StatementAccount("main", _IBAN, "Muster GmbH"))
    ours, reference = list[float](), list[float]()
    for first in range(1, scale.rounds + 1):
        seconds, file_id = await _measure_import(bench, first, entries, claims)
        ours.append(seconds)
        reference.append(await _measure_inserts(ground, bench, file_id))
    await ground.clear_claims()
    return [
        Line(
            work=f"import of a statement with {entries:,} entries beside {claims:,} claims",
            unit="s", ours=ours, at_most=_GOAL_SECONDS,
            beside="plain INSERTs of its rows", reference=reference,
        )
    ]  # fmt: skip


def _open(bench: BenchMerchant, tx: Connection) -> Work:
    return Work.open(bench.resources, tx, bench.merchant, COMMAND_LINE)


async def _measure_import(
    bench: BenchMerchant, first: int, entries: int, claims: int
) -> tuple[float, UUID]:
    """Import one file. Return the seconds and the file."""
    content = build_file(first, entries, claims)
    started = time.perf_counter()
    async with bench.resources.database.transaction() as tx:
        keys = bench.resources.keys
        file = await submit_file(_open(bench, tx), keys, "main", "bench.xml", content)
    await import_next_file(bench.resources)
    seconds = time.perf_counter() - started
    async with bench.resources.database.transaction() as tx:
        ended = await get_file(_open(bench, tx), file.file_id)
    assert (ended.state, ended.new_count) == (FileState.DONE, entries)
    assert ended.matched_count >= entries * 0.94
    return seconds, file.file_id


async def _measure_inserts(ground: Ground, bench: BenchMerchant, file_id: UUID) -> float:
    """Return the seconds in which the rows of a file are inserted. Afterwards the tables contain
    the same rows as before."""
    merchant_id = bench.merchant.merchant_id
    async with ground.database.connection() as connection, connection.transaction():
        for table, condition in _TABLES.items():
            values = [merchant_id, file_id] if "$2" in condition else [merchant_id]
            await connection.execute(
                f"CREATE TEMP TABLE copied_{table} (LIKE {table}) ON COMMIT DROP"
            )
            await connection.execute(
                f"INSERT INTO copied_{table} SELECT * FROM {table}"
                f" WHERE merchant_id = $1 AND {condition}",
                *values,
                timeout=600,
            )
        await connection.execute("SET LOCAL session_replication_role = replica")
        for table in _TABLES:
            key = "payment_id" if table in ("payments", "allocations") else "entry_id"
            await connection.execute(
                f"DELETE FROM {table} WHERE merchant_id = $1"
                f" AND {key} IN (SELECT {key} FROM copied_{table})",
                merchant_id,
                timeout=600,
            )
        await connection.execute("SET LOCAL session_replication_role = origin")
        started = time.perf_counter()
        for table in _TABLES:
            await connection.execute(f"INSERT INTO {table} SELECT * FROM copied_{table}")
    return time.perf_counter() - started


async def _fill(ground: Ground, bench: BenchMerchant, claims: int) -> None:
    statement = _FILL.format(merchant_id=bench.merchant.merchant_id, claims=claims)
    async with ground.database.connection() as connection:
        for part in statement.split(";\n"):
            await connection.execute(part, timeout=1200)
    await ground.settle()
