"""The effect of delivery reports, and the references by which messages are found."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dunwell.contact.sending.references import build_reference, parse_reference
from dunwell.contact.sending.report import Reference, ReportOutcome, ReportState, decide_report
from dunwell.platform.crypto import KeyRing

KEYS = KeyRing({1: b"k" * 32})
REFERENCE = Reference(7, UUID("01900000-0000-7000-8000-000000000002"))


def _write(keys: KeyRing = KEYS) -> str:
    return build_reference(keys, REFERENCE.merchant_id, REFERENCE.communication_id)


@pytest.mark.parametrize(
    ("reported", "state", "is_delivered", "expected"),
    [
        ("DELIVERED", "ACCEPTED", False, ReportOutcome.NOTE_DELIVERY),
        ("DELIVERED", "ACCEPTED", True, ReportOutcome.IGNORE),
        ("DELIVERED", "FAILED", False, ReportOutcome.IGNORE),
        ("FAILED", "ACCEPTED", False, ReportOutcome.FAIL),
        ("FAILED", "ACCEPTED", True, ReportOutcome.IGNORE),
        ("RETURNED", "ACCEPTED", False, ReportOutcome.FAIL),
        ("RETURNED", "ACCEPTED", True, ReportOutcome.FAIL),
        ("DELAYED", "ACCEPTED", False, ReportOutcome.IGNORE),
        ("FAILED", "UNKNOWN", False, ReportOutcome.SETTLE_AS_SENT),
        ("DELAYED", "UNKNOWN", False, ReportOutcome.SETTLE_AS_SENT),
        ("FAILED", "PLANNED", False, ReportOutcome.WAIT),
        ("DELIVERED", "HANDED_OVER", False, ReportOutcome.WAIT),
        ("FAILED", "FAILED", False, ReportOutcome.IGNORE),
        ("FAILED", "CANCELLED", False, ReportOutcome.IGNORE),
    ],
)
def test_each_report_has_its_effect_on_a_message(
    reported: ReportState, state: str, is_delivered: bool, expected: ReportOutcome
) -> None:
    assert decide_report(reported, state, is_delivered=is_delivered) is expected


@given(merchant_id=some.integers(1, 2**31 - 1), communication_id=some.uuids())
def test_a_reference_names_its_message_in_any_case(
    merchant_id: int, communication_id: UUID
) -> None:
    text = build_reference(KEYS, merchant_id, communication_id)
    assert (len(text), text.isalnum(), text.islower()) == (45, True, True)
    for written in (text, text.upper()):
        assert parse_reference(KEYS, written) == Reference(merchant_id, communication_id)


@given(place=some.integers(0, 44), letter=some.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_a_changed_reference_is_refused(place: int, letter: str) -> None:
    text = _write()
    changed = text[:place] + letter + text[place + 1 :]
    if changed != text:
        assert parse_reference(KEYS, changed) is None


def test_a_reference_has_no_unused_bits() -> None:
    text = _write()
    for letter in "abcdefghijklmnopqrstuvwxyz234567":
        expected = REFERENCE if letter == text[-1] else None
        assert parse_reference(KEYS, text[:-1] + letter) == expected


@pytest.mark.parametrize("text", ["", "a", "=", "ä" * 45, "a" * 45, "a" * 10_000, "x@y", "1" * 45])
def test_other_texts_are_no_reference(text: str) -> None:
    assert parse_reference(KEYS, text) is None


def test_a_reference_of_an_older_key_is_accepted_and_of_another_installation_refused() -> None:
    text = _write()
    newer = KeyRing({2: b"n" * 32, 1: b"k" * 32})
    assert parse_reference(newer, text) == REFERENCE
    assert parse_reference(KeyRing({1: b"o" * 32}), text) is None
