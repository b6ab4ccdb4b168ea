"""The transactions of a camt entry: amounts, references, the other party, returns and charges."""

from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import EntryDetail
from tests.support.bank_files import (
    IBAN,
    PAYER_IBAN,
    build_camt,
    build_detail,
    build_entry,
    parse_one_entry,
    parse_one_statement,
)

FULL = f"""<TxDtls>
 <Refs><MsgId>M</MsgId><AcctSvcrRef>T-1</AcctSvcrRef><PmtInfId>P-1</PmtInfId>
  <InstrId>I-1</InstrId><EndToEndId>E2E-7</EndToEndId><TxId>X-1</TxId><MndtId>MANDATE-1</MndtId></Refs>
 <Amt Ccy="EUR">119.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>
 <RltdPties><Dbtr><Pty><Nm>Erika
  Mustermann</Nm></Pty></Dbtr>
  <DbtrAcct><Id><IBAN>DE02 1203 0000 0000 2020 51</IBAN></Id></DbtrAcct>
  <Cdtr><Pty><Nm>Dunwell GmbH</Nm></Pty></Cdtr>
  <CdtrAcct><Id><IBAN>{IBAN}</IBAN></Id></CdtrAcct></RltdPties>
 <RmtInf><Ustrd>Invoice 4711</Ustrd><Ustrd>thank you</Ustrd>
  <Strd><RfrdDocInf><Nb>4711</Nb></RfrdDocInf>
   <CdtrRefInf><Tp><CdOrPrtry><Cd>SCOR</Cd></CdOrPrtry></Tp><Ref>RF18539007547034</Ref></CdtrRefInf>
   <AddtlRmtInf>part 1</AddtlRmtInf></Strd></RmtInf>
 <AddtlTxInf>SEPA credit</AddtlTxInf></TxDtls>"""
RETURN = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"


def parse_detail(details: str, amount: str = "119.00", kind: str = "CRDT") -> EntryDetail:
    (detail,) = parse_one_entry(build_entry(amount, kind=kind, details=details)).details
    return detail


def in_old_form(amounts: str, more: str = "", *, parties: str = "") -> str:
    """Return a transaction as version .02 writes it: without an amount and a sign of its own."""
    return f"<TxDtls><AmtDtls>{amounts}</AmtDtls>{parties}{more}</TxDtls>"


def amount_of(name: str, amount: str, currency: str = "EUR") -> str:
    return f'<{name}><Amt Ccy="{currency}">{amount}</Amt></{name}>'


def test_all_references_and_texts_are_read() -> None:
    assert parse_detail(FULL) == EntryDetail(
        amount_cents=11900,
        end_to_end_id="E2E-7",
        mandate_id="MANDATE-1",
        instruction_id="I-1",
        transaction_id="X-1",
        bank_reference="T-1",
        payment_information_id="P-1",
        structured_references=("RF18539007547034", "4711"),
        remittance_lines=("Invoice 4711", "thank you", "part 1"),
        additional_text="SEPA credit",
        counterparty_name="Erika Mustermann",
        counterparty_iban=PAYER_IBAN,
    )


def test_a_missing_end_to_end_id_is_none() -> None:
    assert parse_detail(FULL.replace("E2E-7", "NOTPROVIDED")).end_to_end_id is None


def test_the_party_of_old_versions_is_read() -> None:
    old = FULL.replace("<Pty>", "").replace("</Pty>", "")
    assert parse_detail(old).counterparty_name == "Erika Mustermann"


def test_a_detail_has_its_own_sign() -> None:
    details = build_detail("120.00") + build_detail("1.00", kind="DBIT")
    entry = parse_one_entry(build_entry(details=details))
    assert [detail.amount_cents for detail in entry.details] == [12000, -100]


def test_a_detail_of_an_old_version_has_the_sign_of_its_entry() -> None:
    details = in_old_form(amount_of("TxAmt", "9.00")) + in_old_form(amount_of("InstdAmt", "1.00"))
    entry = parse_one_entry(build_entry("10.00", kind="DBIT", details=details))
    assert [detail.amount_cents for detail in entry.details] == [-900, -100]


def test_an_amount_in_another_currency_is_not_taken() -> None:
    amounts = amount_of("InstdAmt", "130.00", "USD") + amount_of("TxAmt", "119.00")
    assert parse_detail(in_old_form(amounts)).amount_cents == 11900


def test_the_only_transaction_of_an_entry_may_leave_its_amount_out() -> None:
    assert parse_detail("<TxDtls></TxDtls>").amount_cents == 11900
    assert parse_detail(in_old_form(amount_of("InstdAmt", "1.00", "USD"))).amount_cents == 11900


def test_the_amount_of_one_of_several_transactions_stays_unknown() -> None:
    entry = parse_one_entry(build_entry(details="<TxDtls></TxDtls>" * 2))
    assert [detail.amount_cents for detail in entry.details] == [None, None]


def test_a_return_keeps_the_roles_of_the_original_payment() -> None:
    parties = (
        f"<RltdPties><Dbtr><Nm>Max</Nm></Dbtr><DbtrAcct><Id><IBAN>{PAYER_IBAN}</IBAN></Id></DbtrAcct>"
        f"<Cdtr><Nm>Dunwell</Nm></Cdtr><CdtrAcct><Id><IBAN>{IBAN}</IBAN></Id></CdtrAcct></RltdPties>"
    )
    detail = parse_detail(
        in_old_form(amount_of("TxAmt", "119.00"), RETURN, parties=parties), kind="DBIT"
    )
    assert (detail.counterparty_name, detail.counterparty_iban) == ("Max", PAYER_IBAN)
    assert (detail.return_reason, detail.amount_cents) == ("AC04", -11900)


def test_the_role_decides_where_no_account_is_named() -> None:
    parties = "<RltdPties><Dbtr><Nm>Max</Nm></Dbtr><Cdtr><Nm>Anna</Nm></Cdtr></RltdPties>"
    for kind, more, name in (
        ("CRDT", "", "Max"), ("DBIT", "", "Anna"),
        ("DBIT", RETURN, "Max"), ("CRDT", RETURN, "Anna"),
    ):  # fmt: skip
        detail = parse_detail(f"<TxDtls>{parties}{more}</TxDtls>", kind=kind)
        assert detail.counterparty_name == name


def test_our_own_account_is_never_the_other_party() -> None:
    parties = (
        f"<RltdPties><Dbtr><Nm>We</Nm></Dbtr><DbtrAcct><Id><IBAN>{IBAN}</IBAN></Id></DbtrAcct>"
        "<Cdtr><Nm>Somebody</Nm></Cdtr></RltdPties>"
    )
    assert parse_detail(f"<TxDtls>{parties}</TxDtls>").counterparty_name == "Somebody"


def test_a_proprietary_reason_and_the_one_of_version_01_are_read() -> None:
    for reason in ("<Rsn><Prtry>0000</Prtry></Rsn>", "<RtrRsn><Cd>0000</Cd></RtrRsn>"):
        assert parse_detail(f"<TxDtls><RtrInf>{reason}</RtrInf></TxDtls>").return_reason == "0000"


def test_the_charges_of_a_return_are_a_separate_cost() -> None:
    """The bank takes 53.50 for a payment of 50.00. Four ways in which banks write this."""
    old = '<Chrgs><Amt Ccy="EUR">3.50</Amt></Chrgs>'
    new = (
        '<Chrgs><Rcrd><Amt Ccy="EUR">3.50</Amt><CdtDbtInd>DBIT</CdtDbtInd>'
        "<ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs>"
    )
    original, total = amount_of("InstdAmt", "50.00"), amount_of("TxAmt", "53.50")
    ways = {
        "in the transaction": in_old_form(original + total, old + RETURN),
        "in a record": in_old_form(original + total, new + RETURN),
        "beside the amount": in_old_form(amount_of("TxAmt", "50.00"), new + RETURN),
        "not at all": in_old_form(original + total, RETURN),
    }
    for way, details in ways.items():
        content = build_camt(build_entry("53.50", kind="DBIT", details=details), balances=" ")
        statement = parse_one_statement(content)
        (entry,) = statement.entries
        assert (entry.details[0].amount_cents, entry.charges_cents) == (-5000, -350), way
        assert find_broken_invariants(statement) == (), way


def test_charges_of_the_entry_itself_are_read() -> None:
    charges = '<Chrgs><Amt Ccy="EUR">2.00</Amt></Chrgs>'
    entry = parse_one_entry(build_entry("98.00", more=charges, details=build_detail("100.00")))
    assert (entry.amount_cents, entry.charges_cents) == (9800, -200)
    assert entry.details[0].amount_cents == 10000


def test_charges_that_are_booked_separately_are_no_part_of_the_entry() -> None:
    charges = (
        '<Chrgs><Rcrd><Amt Ccy="EUR">2.00</Amt><ChrgInclInd>false</ChrgInclInd></Rcrd></Chrgs>'
    )
    entry = parse_one_entry(build_entry(more=charges, details=build_detail()))
    assert entry.charges_cents == 0
    both = build_detail(more=charges.replace("false", "true"))
    entry = parse_one_entry(build_entry(more=charges.replace("false", "true"), details=both))
    assert entry.charges_cents == 0
    assert parse_one_entry(build_entry(more=charges)).charges_cents == 0
    assert parse_one_entry(build_entry(more=charges.replace("false", "1"))).charges_cents == -200
    beside = '<Chrgs><Amt Ccy="EUR">2.00</Amt></Chrgs>'
    entry = parse_one_entry(build_entry(more=beside, details=build_detail()))
    assert entry.charges_cents == 0


def test_the_batch_of_our_own_order_is_named() -> None:
    batch = "<Btch><PmtInfId>P-9</PmtInfId><NbOfTxs>2</NbOfTxs></Btch>"
    details = batch + build_detail("100.00") + build_detail("19.00")
    statement = parse_one_statement(build_camt(build_entry(details=details)))
    (entry,) = statement.entries
    assert entry.payment_information_id == "P-9"
    assert [detail.payment_information_id for detail in entry.details] == ["P-9", "P-9"]
    assert statement.problems == ()


def test_a_batch_that_counts_other_transactions_is_reported() -> None:
    details = "<Btch><NbOfTxs>3</NbOfTxs></Btch>" + build_detail()
    statement = parse_one_statement(build_camt(build_entry(details=details)))
    assert statement.problems == (
        "Entry 1 (B-1): the batch counts 3 transactions; there are 1.",
    )  # fmt: skip


def test_a_placeholder_is_no_reference_of_the_bank() -> None:
    for placeholder in ("NONREF", "NOTPROVIDED", "0000"):
        assert parse_one_entry(build_entry(reference=placeholder)).bank_reference is None
