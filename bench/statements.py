"""A statement of 5,000 entries is imported, matched and booked in a database with 1,000,000 claims.

`python -m bench.statements [claims] [entries]` prints the seconds from the file's bytes until the
last payment is booked, for three files one after the other.
"""

import asyncio
import random
import sys
import time

from bench.environment import Ground, open_ground
from bench.merchant import BenchMerchant, make_merchant
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.cases.statements.bank_accounts import save_bank_account
from dunwell.cases.statements.import_statements import get_file, import_next_file, submit_file
from dunwell.cases.statements.store import StatementAccount

_CLAIMS, _ENTRIES, _FILES, _GOAL_SECONDS = 1_000_000, 5_000, 3, 3.0
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


async def measure_import(bench: BenchMerchant, first: int, entries: int, claims: int) -> float:
    """Import one file. Return the seconds."""
    content = build_file(first, entries, claims)
    started = time.perf_counter()
    async with bench.resources.database.transaction() as tx:
        work = Work.open(bench.resources, tx, bench.merchant, COMMAND_LINE)
        keys = bench.resources.keys
        file = await submit_file(work, keys, "main", "bench.xml", content)
    await import_next_file(bench.resources)
    seconds = time.perf_counter() - started
    async with bench.resources.database.transaction() as tx:
        work = Work.open(bench.resources, tx, bench.merchant, COMMAND_LINE)
        ended = await get_file(work, file.file_id)
    print(
        f"{ended.new_count:,} entries, {claims:,} claims in the database: "
        f"{ended.matched_count:,} matched and booked in {seconds:.2f} s, {ended.state}"
    )
    return seconds


async def _fill(ground: Ground, bench: BenchMerchant, claims: int) -> None:
    statement = _FILL.format(merchant_id=bench.merchant.merchant_id, claims=claims)
    async with ground.database.connection() as connection:
        for part in statement.split(";\n"):
            await connection.execute(part, timeout=1200)
    await ground.settle()


async def _main(claims: int, entries: int) -> int:
    async with open_ground() as ground:
        bench = await make_merchant(ground, None)
        await _fill(ground, bench, claims)
        async with bench.resources.database.transaction() as tx:
            work = Work.open(bench.resources, tx, bench.merchant, COMMAND_LINE)
            await save_bank_account(work, StatementAccount("main", _IBAN, "Muster GmbH"))
        seconds = [
            await measure_import(bench, first, entries, claims) for first in range(1, _FILES + 1)
        ]
    return 0 if min(seconds) <= _GOAL_SECONDS else 1


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(asyncio.run(_main(*(given + [_CLAIMS, _ENTRIES][len(given) :]))))
