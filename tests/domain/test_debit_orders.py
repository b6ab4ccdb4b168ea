"""Orders of direct debits: what is written for the bank, spelling, days and sequence types."""

from dataclasses import replace
from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dunwell.cases.direct_debit.debit_values import (
    SequenceType,
    build_reference,
    compute_collection_day,
    compute_expiry,
    compute_last_release_day,
    compute_notice_day,
    compute_order_day,
    decide_sequence_type,
    is_debit_country,
    is_final_reason,
    is_return_reason,
)
from dunwell.cases.direct_debit.order import (
    DebitOrder,
    ForbiddenText,
    OrderAccount,
    OrderBatch,
    remove_debits,
    render_amount,
    render_order,
    spell_name,
    spell_text,
)
from tests.support.direct_debits import CREDITOR_ID, build_debit, build_order


def find_texts(content: bytes, path: str) -> list[str]:
    steps = "/".join(f"*[local-name()='{name}']" for name in path.split("/"))
    return [each.text for each in etree.fromstring(content).xpath(f"//{steps}")]


def test_a_provider_gets_a_debit_fourteen_days_before() -> None:
    assert compute_order_day(date(2026, 3, 30)) == date(2026, 3, 16)


def test_an_order_has_a_batch_for_each_sequence_type_and_day() -> None:
    first = OrderBatch("B1", SequenceType.FIRST, date(2026, 12, 1), [build_debit(5000)])
    later = OrderBatch(
        "B2", SequenceType.RECURRENT, date(2026, 12, 1), [build_debit(1), build_debit(1205)]
    )
    content = render_order(build_order([first, later]))
    assert find_texts(content, "GrpHdr/NbOfTxs") == ["3"]
    assert find_texts(content, "GrpHdr/CtrlSum") == ["62.06"]
    assert find_texts(content, "PmtInf/PmtTpInf/SeqTp") == ["FRST", "RCUR"]
    assert find_texts(content, "PmtInf/CtrlSum") == ["50.00", "12.06"]
    assert find_texts(content, "PmtInf/ReqdColltnDt") == ["2026-12-01"] * 2
    assert find_texts(content, "CdtrSchmeId/Id/PrvtId/Othr/Id") == [CREDITOR_ID] * 2
    assert find_texts(content, "DrctDbtTxInf/InstdAmt") == ["50.00", "0.01", "12.05"]


@pytest.mark.parametrize("removed", [{"E1"}, {"E2"}, {"E2", "E3"}, {"E1", "E3"}, {"E9"}])
def test_an_order_that_loses_debits_is_the_order_without_them(removed: set[str]) -> None:
    batches = [
        OrderBatch(
            batch_id, sequence_type, date(2026, 12, 1),
            [replace(build_debit(cents), end_to_end_id=name) for name, cents in debits],
        )
        for batch_id, sequence_type, debits in (
            ("B1", SequenceType.FIRST, [("E1", 5000)]),
            ("B2", SequenceType.RECURRENT, [("E2", 1), ("E3", 1205)]),
        )
    ]  # fmt: skip
    left = [
        replace(each, debits=[one for one in each.debits if one.end_to_end_id not in removed])
        for each in batches
    ]
    content = remove_debits(render_order(build_order(batches)), removed)
    assert content == render_order(build_order([each for each in left if each.debits]))


def test_an_order_has_no_address_and_finds_a_bank_without_bic_by_its_iban() -> None:
    batch = OrderBatch("B1", SequenceType.FIRST, date(2026, 12, 1), [build_debit(5000)])
    content = render_order(build_order([batch]))
    assert b"PstlAdr" not in content
    assert find_texts(content, "DbtrAgt/FinInstnId/Othr/Id") == ["NOTPROVIDED"]
    assert find_texts(content, "CdtrAgt/FinInstnId/BICFI") == ["COBADEFFXXX"]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Jürgen Weiß & Söhne", "Juergen Weiss + Soehne"),
        ("Łukasz Żółć", "Lukasz Zolc"),
        ("Ana-Sofía\tNúñez\n", "Ana-Sofia Nunez"),
        ("O\N{RIGHT SINGLE QUOTATION MARK}Brien", "O'Brien"),
        ("<script>", "script"),
        ("a" * 100, "a" * 70),
    ],
)
def test_names_are_spelled_as_every_bank_accepts_them(text: str, spelled: str) -> None:
    assert spell_name(text) == spelled


@pytest.mark.parametrize("name", ["", "—", "東京", "  "])
def test_a_name_without_latin_letters_is_refused(name: str) -> None:
    with pytest.raises(ForbiddenText):
        spell_name(name)


@given(st.text(), st.integers(1, 140))
def test_a_spelled_text_has_only_allowed_characters(text: str, most: int) -> None:
    spelled = spell_text(text, most)
    allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-?:().,'+ "
    assert set(spelled) <= set(allowed)
    assert len(spelled) <= most
    assert spell_text(spelled, most) == spelled


@pytest.mark.parametrize(("cents", "text"), [(1, "0.01"), (1205, "12.05"), (100, "1.00")])
def test_amounts_have_two_decimals(cents: int, text: str) -> None:
    assert render_amount(cents) == text


@pytest.mark.parametrize(
    ("was_used", "is_last", "found"),
    [
        (False, False, "FRST"), (True, False, "RCUR"), (True, True, "FNAL"), (False, True, "OOFF"),
    ],
)  # fmt: skip
def test_the_sequence_type_follows_from_earlier_and_later_debits(
    *, was_used: bool, is_last: bool, found: str
) -> None:
    assert decide_sequence_type(was_used=was_used, is_last=is_last) == found


def test_a_debit_is_made_on_a_banking_day_after_the_promised_notice() -> None:
    # Friday is a holiday of TARGET (25 December), as is 1 January.
    assert compute_collection_day(date(2026, 12, 25), date(2026, 12, 1), 14) == date(2026, 12, 28)
    # Fourteen days after the notice.
    assert compute_collection_day(date(2026, 12, 3), date(2026, 12, 1), 14) == date(2026, 12, 15)
    assert compute_notice_day(date(2026, 12, 15), 14) == date(2026, 11, 30)


def test_the_bank_has_its_banking_days_before_a_debit() -> None:
    assert compute_last_release_day(date(2026, 12, 28), 2) == date(2026, 12, 23)
    assert compute_last_release_day(date(2026, 12, 16), 1) == date(2026, 12, 15)


def test_a_mandate_ends_after_36_months() -> None:
    assert compute_expiry(date(2026, 12, 1)) == date(2029, 12, 1)
    assert compute_expiry(date(2028, 2, 29)) == date(2031, 2, 28)


def test_a_code_that_is_unknown_or_a_success_is_no_return() -> None:
    assert [is_return_reason(each) for each in ("AM04", "MD06", "0000", "XX99", None)] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert is_final_reason("AC04")
    assert not is_final_reason("AM04")


def test_only_accounts_of_the_european_economic_area_are_debited() -> None:
    assert is_debit_country("DE89370400440532013000")
    assert not is_debit_country("CH9300762011623852957")


def test_a_mandate_reference_fits_into_the_order() -> None:
    modality_id = UUID(int=0xABC)
    assert build_reference(12, modality_id, 1) == "12-00000ABC-1"
    assert len(build_reference(2**62, modality_id, 99_999)) <= 35


def test_an_order_has_the_local_time() -> None:
    order = DebitOrder(
        "M1", datetime(2026, 11, 27, 8, 0, 1, tzinfo=UTC), CREDITOR_ID,
        OrderAccount("Teekontor", "DE89370400440532013000"), [],
    )  # fmt: skip
    assert find_texts(render_order(order), "GrpHdr/CreDtTm") == ["2026-11-27T08:00:01"]
