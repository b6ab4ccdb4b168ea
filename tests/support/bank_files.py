"""Files of banks, written for tests."""

import io
import zipfile
from collections.abc import Mapping

from dunwell.cases.statements.formats.bank_file import parse_bank_file
from dunwell.cases.statements.formats.statement import BankEntry, BankFileRefused, BankStatement

IBAN = "DE89370400440532013000"
PAYER_IBAN = "DE02120300000000202051"
_NAMES = {
    "053": ("BkToCstmrStmt", "Stmt"),
    "054": ("BkToCstmrDbtCdtNtfctn", "Ntfctn"),
    "052": ("BkToCstmrAcctRpt", "Rpt"),
}


def build_detail(
    amount: str = "119.00", text: str = "RF18539007547034", *, kind: str = "CRDT", more: str = ""
) -> str:
    """Return one transaction, as version .08 writes it."""
    party = "Dbtr" if kind == "CRDT" else "Cdtr"
    return (
        f"<TxDtls><Refs><EndToEndId>E2E-1</EndToEndId></Refs>"
        f'<Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{kind}</CdtDbtInd>'
        f"<RltdPties><{party}><Pty><Nm>Erika Mustermann</Nm></Pty></{party}>"
        f"<{party}Acct><Id><IBAN>{PAYER_IBAN}</IBAN></Id></{party}Acct></RltdPties>"
        f"<RmtInf><Ustrd>{text}</Ustrd></RmtInf>{more}</TxDtls>"
    )


def build_entry(
    amount: str = "119.00", *, kind: str = "CRDT", status: str = "<Cd>BOOK</Cd>",
    day: str = "2026-11-27", reference: str = "B-1", currency: str = "EUR", details: str = "",
    more: str = "",
) -> str:  # fmt: skip
    """Return one Ntry, as version .08 writes it. `more` is XML after BkTxCd, `details` inside
    NtryDtls."""
    given = f"<AcctSvcrRef>{reference}</AcctSvcrRef>" if reference else ""
    inside = f"<NtryDtls>{details}</NtryDtls>" if details else ""
    return (
        f'<Ntry><Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{kind}</CdtDbtInd>'
        f"<Sts>{status}</Sts><BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt>{given}"
        "<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn>"
        f"</BkTxCd>{more}{inside}</Ntry>"
    )


def build_balance(code: str, amount: str, kind: str = "CRDT", currency: str = "EUR") -> str:
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
        f'<Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{kind}</CdtDbtInd>'
        "<Dt><Dt>2026-11-27</Dt></Dt></Bal>"
    )


def build_statement(
    *entries: str, name: str = "Stmt", statement_id: str = "S-1", iban: str = IBAN,
    balances: str | None = None, currency: str = "EUR",
) -> str:  # fmt: skip
    if balances is None:
        balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "0.00")
    return (
        f"<{name}><Id>{statement_id}</Id><CreDtTm>2026-11-27T20:00:00</CreDtTm>"
        f"<FrToDt><FrDtTm>2026-11-27T00:00:00</FrDtTm><ToDtTm>2026-11-27T23:59:59</ToDtTm></FrToDt>"
        f"<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>{currency}</Ccy></Acct>"
        f"{balances}{''.join(entries)}</{name}>"
    )


def build_camt(
    *entries: str, message: str = "053", version: str = "08", statements: str | None = None,
    balances: str | None = None,
) -> bytes:  # fmt: skip
    """Return a file with one statement, or with the XML of several."""
    root, name = _NAMES[message]
    inside = statements or build_statement(*entries, name=name, balances=balances)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.{message}.001.{version}"><{root}>'
        "<GrpHdr><MsgId>M-1</MsgId><CreDtTm>2026-11-27T20:00:00</CreDtTm></GrpHdr>"
        f"{inside}</{root}></Document>"
    ).encode()


def build_zip(files: Mapping[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def parse_one_statement(content: bytes, name: str = "bank.xml") -> BankStatement:
    """Return the only statement of a file. Raises BankFileRefused if the file was refused."""
    (file,) = parse_bank_file(name, content)
    if file.refusal is not None:
        raise file.refusal
    (statement,) = file.statements
    return statement


def parse_one_entry(*entries: str, message: str = "053", version: str = "08") -> BankEntry:
    """Return the only entry of a camt file with this XML."""
    (entry,) = parse_one_statement(build_camt(*entries, message=message, version=version)).entries
    return entry


def find_refusal(content: bytes, name: str = "bank.xml") -> BankFileRefused:
    """Return why a file was refused."""
    (file,) = parse_bank_file(name, content)
    assert file.refusal is not None, file
    assert file.statements == ()
    return file.refusal
