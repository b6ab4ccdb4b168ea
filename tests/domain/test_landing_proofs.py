"""The fact that each entrance asks for, and which spellings of it are accepted."""

from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import Configuration, LandingPage, VerificationMethod
from dunwell.interfaces.landing.sign_in.verification import (
    AskCode,
    AskProof,
    KnownProofs,
    LinkVerification,
    NoProofNeeded,
    NoProofOnFile,
    ProofKind,
    choose_proof,
    decide_verification,
    find_code_channel,
    get_verification_policy,
    matches_proof,
    parse_typed_proof,
)

_BOTH: Any = {"EMAIL": "erika@example.org", "SMS": "+491711234567"}
_ALL: tuple[Any, ...] = ("EMAIL", "SMS", "LETTER")
_FACTS: Any = {
    "POSTAL_CODE": "20459", "DATE_OF_BIRTH": "1984-03-27", "CUSTOMER_NUMBER": "K-4711 a",
    "CONTRACT_NUMBER": "Straße 9",
}  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "known", "way"),
    [
        ((), KnownProofs(_FACTS, _BOTH), NoProofNeeded()),
        (("POSTAL_CODE",), KnownProofs(_FACTS, _BOTH), AskProof("POSTAL_CODE")),
        (("DATE_OF_BIRTH", "POSTAL_CODE"), KnownProofs({"POSTAL_CODE": "1"}, _BOTH),
         AskProof("POSTAL_CODE")),
        (("CODE", "POSTAL_CODE"), KnownProofs(_FACTS, _BOTH), AskCode("SMS")),
        (("CODE", "POSTAL_CODE"), KnownProofs(_FACTS, {}), AskProof("POSTAL_CODE")),
        (("POSTAL_CODE",), KnownProofs({}, _BOTH), AskCode("SMS")),
        (("POSTAL_CODE",), KnownProofs({}, {"EMAIL": "e@example.org"}), AskCode("EMAIL")),
        (("POSTAL_CODE",), KnownProofs({"DATE_OF_BIRTH": "1984-03-27"}, {}), NoProofOnFile()),
        (("CODE",), KnownProofs(_FACTS, {}), NoProofOnFile()),
    ],
)  # fmt: skip
def test_the_first_fact_on_file_is_requested_then_a_code_then_nothing(
    policy: tuple[VerificationMethod, ...], known: KnownProofs, way: LinkVerification
) -> None:
    assert decide_verification(policy, known, "EMAIL", _ALL) == way


@pytest.mark.parametrize(
    ("link", "channels", "channel"),
    [
        ("EMAIL", _ALL, "SMS"),
        ("SMS", _ALL, "EMAIL"),
        ("LETTER", _ALL, "EMAIL"),
        (None, _ALL, "EMAIL"),
        ("EMAIL", ("EMAIL",), "EMAIL"),
        ("EMAIL", ("LETTER",), None),
    ],
)
def test_a_code_is_sent_by_another_channel_than_the_link_if_possible(
    link: Any, channels: Any, channel: Any
) -> None:
    assert find_code_channel(KnownProofs({}, _BOTH), link, channels) == channel


@pytest.mark.parametrize(
    ("fact", "typed"),
    [
        ("POSTAL_CODE", "20459"),
        ("POSTAL_CODE", " 20 459 "),
        ("POSTAL_CODE", "D-20459"),
        ("POSTAL_CODE", "\uff12\uff10\uff14\uff15\uff19"),
        ("CUSTOMER_NUMBER", "k4711A"),
        ("CUSTOMER_NUMBER", "K 4711-a"),
        ("CONTRACT_NUMBER", "STRASSE 9"),
    ],
)
def test_case_spaces_and_letter_variants_are_ignored(fact: ProofKind, typed: str) -> None:
    read = parse_typed_proof(fact, {"fact": typed})
    assert read is not None
    assert matches_proof(fact, read, KnownProofs(_FACTS, {}))


@pytest.mark.parametrize(
    ("fact", "typed"),
    [("POSTAL_CODE", "20458"), ("POSTAL_CODE", "2045"), ("CUSTOMER_NUMBER", "K-4711")],
)
def test_any_other_input_is_wrong(fact: ProofKind, typed: str) -> None:
    read = parse_typed_proof(fact, {"fact": typed})
    assert read is not None
    assert not matches_proof(fact, read, KnownProofs(_FACTS, {}))


def test_a_fact_that_is_not_on_file_cannot_be_proven() -> None:
    assert not matches_proof("POSTAL_CODE", "", KnownProofs({}, {}))
    assert not matches_proof("POSTAL_CODE", "20459", KnownProofs({}, {}))


@pytest.mark.parametrize(
    ("day", "month", "year", "read"),
    [
        ("27", "3", "1984", "1984-03-27"),
        (" 27 ", "03", "1984", "1984-03-27"),
        ("31", "2", "1984", None),
        ("27", "March", "1984", None),
        ("", "", "", None),
        ("1", "1", "99999", None),
        ("27", "3", "99999999999999999999", None),
        ("27", "3", "1_984", None),
        ("27", "3", "１９８４", None),  # noqa: RUF001 - full-width digits
    ],
)
def test_a_birth_date_must_exist(day: str, month: str, year: str, read: str | None) -> None:
    form = {"born_day": day, "born_month": month, "born_year": year}
    assert parse_typed_proof("DATE_OF_BIRTH", form) == read


@pytest.mark.parametrize(
    ("on_file", "typed", "is_right"),
    [
        ("1984-03-27", ("27", "3", "84"), True),
        ("1904-02-29", ("29", "02", "04"), True),
        ("1926-05-01", ("1", "5", "26"), True),
        ("2026-05-01", ("1", "5", "26"), True),
        ("1984-03-27", ("27", "3", "48"), False),
        ("1984-03-27", ("26", "3", "84"), False),
        ("1984-03-27", ("27", "3", "2084"), False),
        ("1984-03-27", ("27", "3", "0084"), False),
    ],
)
def test_a_birth_date_may_be_typed_with_two_digits_of_the_year(
    on_file: str, typed: tuple[str, str, str], *, is_right: bool
) -> None:
    day, month, year = typed
    read = parse_typed_proof(
        "DATE_OF_BIRTH", {"born_day": day, "born_month": month, "born_year": year}
    )
    assert read is not None
    assert (
        matches_proof("DATE_OF_BIRTH", read, KnownProofs({"DATE_OF_BIRTH": on_file}, {}))
        == is_right
    )


@pytest.mark.parametrize(
    ("day", "month", "year"),
    [("27", "3", "4"), ("27", "3", "984"), ("30", "2", "84"), ("29", "2", "85")],
)
def test_an_invalid_birth_date_does_not_count_as_an_attempt(
    day: str, month: str, year: str
) -> None:
    form = {"born_day": day, "born_month": month, "born_year": year}
    assert parse_typed_proof("DATE_OF_BIRTH", form) is None


@pytest.mark.parametrize("typed", ["", "  ", "---", "\u2028"])
def test_an_empty_input_does_not_count_as_an_attempt(typed: str) -> None:
    assert parse_typed_proof("POSTAL_CODE", {"fact": typed}) is None


@pytest.mark.parametrize(
    ("policy", "facts", "fact"),
    [
        ((), _FACTS, "POSTAL_CODE"),
        (("CODE",), _FACTS, "POSTAL_CODE"),
        (("CUSTOMER_NUMBER",), _FACTS, "CUSTOMER_NUMBER"),
        (("CUSTOMER_NUMBER",), {"POSTAL_CODE": "20459"}, None),
        ((), {"CONTRACT_NUMBER": "9"}, "CONTRACT_NUMBER"),
        ((), {}, None),
    ],
)
def test_a_session_is_upgraded_by_the_merchants_facts_or_the_default_ones(
    policy: tuple[VerificationMethod, ...], facts: Any, fact: ProofKind | None
) -> None:
    assert choose_proof(policy, KnownProofs(facts, _BOTH)) == fact


def test_a_link_without_a_communication_uses_the_verification_policy_of_e_mail() -> None:
    page = LandingPage(verification={"EMAIL": ("POSTAL_CODE",), "SMS": ("CODE",)})
    configuration = Configuration("de", "Europe/Berlin", "EUR", landing_page=page)

    policies = [
        get_verification_policy(configuration, channel)
        for channel in (None, "EMAIL", "SMS", "LETTER")
    ]

    assert policies == [("POSTAL_CODE",), ("POSTAL_CODE",), ("CODE",), ()]
