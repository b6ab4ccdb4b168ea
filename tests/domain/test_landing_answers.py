"""Typed input becomes answers or faults, never a crash."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.reasons import (
    RESERVED_NAMES,
    DisputeType,
    OfferedReason,
    list_questions,
)
from dunwell.interfaces.landing.disputes.dispute_form import (
    extract_fields,
    list_fields,
    parse_answers,
)
from dunwell.interfaces.landing.disputes.submit_dispute import (
    find_reason,
    list_reasons_for_level,
    needs_proof,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.text.texts import find_unprintable

TODAY = date(2026, 3, 2)


def a_reason(dispute_type: DisputeType) -> OfferedReason:
    return OfferedReason(dispute_type, dispute_type, {}, is_hidden=False)


PAID = a_reason(DisputeType.DEBTOR_ALREADY_PAID)


def test_fields_are_parsed_to_answers_in_one_format() -> None:
    fields = {"day_day": " 4 ", "day_month": "2", "day_year": "2026", "amount": "1.102,40 €",
              "way": "CARD", "message": " so it is\n"}  # fmt: skip

    answered = parse_answers(PAID, fields, "EUR", "de", TODAY)

    assert answered.answers == {"day": "2026-02-04", "amount": "110240", "way": "CARD"}
    assert (answered.message, answered.faults) == ("so it is", [])


def test_a_week_is_not_accepted_as_a_day() -> None:
    fields = {"day_day": "1", "day_month": "W01", "day_year": "2026"}
    answered = parse_answers(PAID, fields, "EUR", "en", TODAY)
    assert [(each.path, each.code) for each in answered.faults] == [("day", "WRONG_FORMAT")]


def test_only_the_fields_of_the_reason_are_kept_without_control_characters() -> None:
    form = {"token": "x", "do": "send", "amount": "5", "message": "a\x00b\ud800\nc", "person": "p",
            "number": " \n"}  # fmt: skip
    assert extract_fields(PAID, form) == {"amount": "5", "message": "ab\nc"}


@given(
    st.sampled_from(DisputeType),
    st.dictionaries(
        st.sampled_from(["day_day", "day_month", "day_year", "amount", "way", "number", "person",
                         "court", "message"]),
        st.text(),
    ),
)  # fmt: skip
def test_every_input_is_an_answer_or_a_fault(
    dispute_type: DisputeType, form: dict[str, str]
) -> None:
    reason = a_reason(dispute_type)
    fields = extract_fields(reason, form)
    assert set(fields) <= set(list_fields(reason))
    assert list(find_unprintable(fields)) == []

    answered = parse_answers(reason, fields, "EUR", "de", TODAY)

    assert set(answered.answers) <= {each.name for each in list_questions(reason)}
    assert all(answered.answers.values())


def test_a_link_alone_offers_only_reasons_that_show_no_personal_data() -> None:
    names = [each.name for each in list_reasons_for_level(DisputeSettings(), Level.LINK)]
    assert names == [
        "WRONG_PERSON", "NOT_MY_DEBT", "PERSON_DIED", "IDENTITY_THEFT", "DEBTOR_ALREADY_PAID",
        "OTHER",
    ]  # fmt: skip
    assert len(list_reasons_for_level(DisputeSettings(), Level.FACT)) == len(RESERVED_NAMES)


def test_hidden_reasons_are_not_found_and_own_reasons_require_a_known_fact() -> None:
    disputes = DisputeSettings(
        (DisputeReason("IDENTITY_THEFT", is_hidden=True), DisputeReason("TOO_BIG", {"en": "Big"}))
    )
    assert find_reason(disputes, "IDENTITY_THEFT") is None
    own = find_reason(disputes, "TOO_BIG")
    assert own is not None
    assert needs_proof(own)
    assert [each.name for each in list_reasons_for_level(disputes, Level.LINK)] == [
        "WRONG_PERSON", "NOT_MY_DEBT", "PERSON_DIED", "DEBTOR_ALREADY_PAID", "OTHER",
    ]  # fmt: skip
