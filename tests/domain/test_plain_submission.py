"""A body that cannot contain control characters is parsed faster, with the same result."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.intake.check_claims import (
    RejectedSubmission,
    check_claims,
    decode_plain,
    has_only_plain_text,
)
from dunwell.cases.intake.submission import ClaimSubmission
from tests.support.claims import a_claim

_TEXTS = ("referenceNumber", "debtorName", "debtorLastName", "companyName", "customerNumber")


@pytest.mark.parametrize("character", ["\xa0", "§", "°", "ü", "€", "\u2028", "𝄞"])
def test_a_character_that_is_no_control_character_is_accepted(character: str) -> None:
    body = msgspec.json.encode([a_claim(debtorName=character)])
    assert has_only_plain_text(body)
    [claim] = check_claims(body)
    assert isinstance(claim, ClaimSubmission)
    assert claim.first_name == character


@given(st.dictionaries(st.sampled_from(_TEXTS), st.text(max_size=300)))
def test_the_fast_parser_reads_a_plain_body_like_the_full_one(texts: dict[str, str]) -> None:
    body = msgspec.json.encode([a_claim("R-1") | texts])
    if not has_only_plain_text(body):
        return
    try:
        [full] = msgspec.json.decode(body, type=list[ClaimSubmission])
    except msgspec.ValidationError as refusal:
        with pytest.raises(msgspec.ValidationError, match=str(refusal).partition(" - ")[0]):
            decode_plain(body)
        return
    [plain] = decode_plain(body)
    assert isinstance(plain, ClaimSubmission)
    assert msgspec.to_builtins(plain) == msgspec.to_builtins(full)


@pytest.mark.parametrize("character", ["\x00", "\t", "\n", "\x1f", "\x7f", "\x80", "\x9f"])
@pytest.mark.parametrize("place", ["debtorName", "address"])
def test_a_control_character_is_refused_at_any_position(character: str, place: str) -> None:
    text = f"a{character}b"
    value: Any = {"city": text} if place == "address" else text
    [claim] = check_claims(msgspec.json.encode([a_claim(**{place: value})]))
    assert isinstance(claim, RejectedSubmission)
    [fault] = claim.error.faults
    assert fault.path == ("/address/city" if place == "address" else "/debtorName")
