from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.errors import ValidationError
from dunwell.platform.text.cursor import CursorForm

FORM = CursorForm(b"abc1", "Q16s")
OWNERS = st.tuples(st.integers(min_value=1, max_value=2**31 - 1))
PLACES = st.tuples(
    st.integers(min_value=0, max_value=2**64 - 1), st.binary(min_size=16, max_size=16)
)


@given(OWNERS, PLACES)
def test_a_cursor_leads_back_to_its_place(owner: tuple[int], place: tuple[Any, ...]) -> None:
    cursor = FORM.write(owner, *place)
    assert FORM.read(owner, cursor) == place
    assert all(char.isascii() and (char.isalnum() or char in "-_") for char in cursor)


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        FORM.read((1,), text)
    assert [fault.path for fault in refused.value.faults] == ["/cursor"]


@given(PLACES, st.integers(min_value=0, max_value=42))
def test_a_shortened_cursor_is_refused(place: tuple[Any, ...], length: int) -> None:
    with pytest.raises(ValidationError):
        FORM.read((1,), FORM.write((1,), *place)[:length])


@pytest.mark.parametrize(
    "foreign",
    [
        FORM.write((2,), 7, bytes(16)),
        CursorForm(b"abd1", "Q16s").write((1,), 7, bytes(16)),
        CursorForm(b"abc1", "QQ").write((1,), 7, 8),
    ],
    ids=["another owner's", "another list's", "another layout's"],
)
def test_a_foreign_cursor_is_refused(foreign: str) -> None:
    with pytest.raises(ValidationError):
        FORM.read((1,), foreign)


def test_a_place_beyond_a_bigint_is_refused() -> None:
    form, unsigned = CursorForm(b"abc1", "Qq"), CursorForm(b"abc1", "QQ")
    assert form.read((1,), unsigned.write((1,), 7, 2**63 - 1)) == (7, 2**63 - 1)
    with pytest.raises(ValidationError):
        form.read((1,), unsigned.write((1,), 7, 2**63))


def test_a_list_within_a_claim_has_two_owners() -> None:
    form = CursorForm(b"abc1", "Q", "IQ")
    assert form.read((1, 2), form.write((1, 2), 9)) == (9,)
    with pytest.raises(ValidationError):
        form.read((1, 3), form.write((1, 2), 9))
