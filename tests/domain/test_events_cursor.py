from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.events.cursor import Position, decode_cursor, encode_cursor
from dunwell.platform.errors import ValidationError

MERCHANTS = st.integers(min_value=1, max_value=2**31 - 1)
POSITIONS = st.builds(
    Position, written_by=st.integers(min_value=0, max_value=2**64 - 1), event_id=st.uuids()
)


@given(MERCHANTS, POSITIONS)
def test_a_cursor_leads_back_to_its_place(merchant_id: int, position: Position) -> None:
    cursor = encode_cursor(merchant_id, position)
    assert decode_cursor(merchant_id, cursor) == position
    assert cursor.isascii()
    assert all(char.isalnum() or char in "-_" for char in cursor)


def test_another_merchants_cursor_is_refused() -> None:
    cursor = encode_cursor(2, Position(10, UUID(int=1)))
    with pytest.raises(ValidationError):
        decode_cursor(1, cursor)


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        decode_cursor(1, text)
    assert [fault.path for fault in refused.value.faults] == ["/cursor"]


@given(POSITIONS, st.integers(min_value=0, max_value=42))
def test_a_shortened_cursor_is_refused(position: Position, length: int) -> None:
    with pytest.raises(ValidationError):
        decode_cursor(1, encode_cursor(1, position)[:length])
