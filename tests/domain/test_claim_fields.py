"""The table of a debtor's fields is the only source of these fields."""

import msgspec

from dunwell.accounts.merchants.audit_fields import FieldClass, classify_field
from dunwell.cases.intake.check_claims import check_claims
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.fields import (
    ADDRESS_FIELDS,
    FIELDS,
    AddressSubmission,
    ContactData,
    DebtorFields,
    DebtorName,
    build_debtor_fields,
    build_debtor_row,
    render_columns,
    render_record_columns,
)
from dunwell.interfaces.api.schemas.claims import Address, Claim
from dunwell.platform.logging import FIELDS as LOGGED
from tests.support.claims import a_claim

DEBTOR = DebtorFields(
    last_name="Lovelace", address=AddressSubmission(address_line2="c/o Babbage", city="London")
)


def test_submissions_and_responses_use_the_same_field_names() -> None:
    names = {each.wire_name for each in FIELDS}
    assert names <= set(ClaimSubmission.__struct_encode_fields__)
    assert names <= set(Claim.__struct_encode_fields__)
    assert [each.wire_name for each in ADDRESS_FIELDS] == list(Address.__struct_encode_fields__)


def test_columns_have_the_attributes_names_and_their_types() -> None:
    assert render_columns(DebtorName, "d") == ", ".join(
        f"d.{name}" for name in DebtorName.__struct_fields__
    )
    record = render_record_columns(DebtorFields).split(", ")
    for column in ("last_name text", "date_of_birth date", "address jsonb", "custom_fields jsonb"):
        assert column in record


def test_a_row_is_read_as_it_was_written() -> None:
    row = build_debtor_row(DEBTOR)
    stored = row | {"address": msgspec.to_builtins(row["address"])}
    assert stored["address"] == {"address_line2": "c/o Babbage", "city": "London"}
    assert build_debtor_fields(stored, DebtorFields) == DEBTOR
    assert build_debtor_fields(stored, ContactData).last_name == "Lovelace"


def test_the_fast_parser_knows_the_same_fields() -> None:
    for name in ("Lovelace", "Love\\lace"):
        [claim] = check_claims(msgspec.json.encode([a_claim(debtorLastName=name)]))
        assert isinstance(claim, ClaimSubmission)
        assert claim.last_name == name
        assert set(claim.__struct_encode_fields__) == set(ClaimSubmission.__struct_encode_fields__)


def test_no_log_contains_a_field_of_a_debtor() -> None:
    assert not LOGGED & {each.name for each in FIELDS + ADDRESS_FIELDS}


def test_the_audit_log_hides_every_personal_field_of_a_debtor() -> None:
    # Two names are also settings of merchants; a date does not identify a person; an address is
    # classified by its parts.
    shown = {"language", "country", "maxDeferralDate", "address"}
    names = {each.wire_name for each in (*FIELDS, *ADDRESS_FIELDS)} - shown
    assert {each for each in names if classify_field(each) is FieldClass.PLAIN} == set()
