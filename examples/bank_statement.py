"""A bank's statements (camt.053) with one entry each, and their import: a transfer, a debit that
was collected, or one that was returned."""

import json
import subprocess
from dataclasses import dataclass
from datetime import date
from typing import Any

from examples.installation import MERCHANT, DemoInstallation
from examples.progress import DemoFailed

ACCOUNT = "main"
_IBAN, _HOLDER = "DE02120300000000202051", "Teekontor Hansen GmbH"
_STATEMENT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>{name}</MsgId><CreDtTm>{day}T18:00:00Z</CreDtTm></GrpHdr>
<Stmt><Id>{name}</Id><CreDtTm>{day}T18:00:00Z</CreDtTm>
<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">0.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>
<CdtDbtInd>{sign}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>
<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{sign}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt>
<AcctSvcrRef>{name}</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><AcctSvcrRef>{name}</AcctSvcrRef>{end_to_end}</Refs>
<Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{sign}</CdtDbtInd>
<RmtInf><Ustrd>{text}</Ustrd></RmtInf>{reason}</TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""


@dataclass(frozen=True)
class Entry:
    """An entry of a statement. `name` is the bank's reference, and is unique."""

    name: str
    cents: int
    day: date
    text: str
    # Set only if the entry belongs to a debit.
    end_to_end_id: str | None = None
    # Why a debit was returned, for example "AM04".
    return_reason: str | None = None


def import_entry(installation: DemoInstallation, entry: Entry) -> None:
    """Write a bank's statement with one entry, and import it. Raises DemoFailed unless the entry
    was matched with its claim."""
    _run(installation, "account", MERCHANT, ACCOUNT, "--iban", _IBAN, "--holder", _HOLDER)
    path = installation.data_dir / f"statement-{entry.name}.xml"
    path.write_text(_render(entry))
    command = ("import", str(path), "--merchant", MERCHANT, "--account", ACCOUNT, "--json")
    report: dict[str, Any] = json.loads(_run(installation, *command))
    if report["matched"] != 1:
        raise DemoFailed(f"the entry {entry.text} was not matched: {report}")


def _render(entry: Entry) -> str:
    name = entry.end_to_end_id
    reason = entry.return_reason
    return _STATEMENT.format(
        name=entry.name,
        day=entry.day,
        iban=_IBAN,
        amount=f"{entry.cents // 100}.{entry.cents % 100:02}",
        sign="CRDT" if reason is None else "DBIT",
        end_to_end="" if name is None else f"<EndToEndId>{name}</EndToEndId>",
        text=entry.text,
        reason="" if reason is None else f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>",
    )


def _run(installation: DemoInstallation, *arguments: str) -> str:
    done = subprocess.run(
        installation.dunwell("statements", *arguments),
        env=installation.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise DemoFailed(f"dunwell statements {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
