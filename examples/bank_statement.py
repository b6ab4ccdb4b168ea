"""A bank's statement (camt.053) with one incoming transfer, and its import."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from examples.installation import DemoInstallation
from examples.progress import DemoFailed

MERCHANT, ACCOUNT = "teekontor-demo", "main"
_IBAN, _HOLDER = "DE02120300000000202051", "Teekontor Hansen GmbH"
_STATEMENT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>DEMO-{number}</MsgId><CreDtTm>{day}T18:00:00Z</CreDtTm></GrpHdr>
<Stmt><Id>DEMO-{number}</Id><CreDtTm>{day}T18:00:00Z</CreDtTm>
<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">0.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>
<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt>
<AcctSvcrRef>DEMO-{number}</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><AcctSvcrRef>DEMO-{number}</AcctSvcrRef></Refs>
<Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>
<RmtInf><Ustrd>Tea {reference}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""


def import_transfer(
    installation: DemoInstallation, reference: str, cents: int, number: int
) -> None:
    """Write the statement of a bank with one transfer, and import it. Raises DemoFailed unless the
    transfer was matched with its claim."""
    _run(installation, "account", MERCHANT, ACCOUNT, "--iban", _IBAN, "--holder", _HOLDER)
    path = installation.data_dir / f"statement-{number}.xml"
    _write_statement(path, reference, cents, number)
    command = ("import", str(path), "--merchant", MERCHANT, "--account", ACCOUNT, "--json")
    report: dict[str, Any] = json.loads(_run(installation, *command))
    if report["matched"] != 1:
        raise DemoFailed(f"the transfer of {reference} was not matched: {report}")


def _write_statement(path: Path, reference: str, cents: int, number: int) -> None:
    text = _STATEMENT.format(
        number=number,
        day=datetime.now(UTC).date(),
        iban=_IBAN,
        amount=f"{cents // 100}.{cents % 100:02}",
        reference=reference,
    )
    path.write_text(text)


def _run(installation: DemoInstallation, *arguments: str) -> str:
    done = subprocess.run(
        installation.dunwell("statements", *arguments),
        env=installation.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise DemoFailed(f"dunwell statements {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
