"""Places in the lists of what belongs to a claim."""

import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.platform.errors import ValidationError

LISTED = PartList(b"tst1", 7, 41)
PLACE = Place(datetime(2026, 3, 2, 9, 30, 15, 999999, tzinfo=UTC), UUID(int=5))
_INSTANTS = st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC))


@given(
    st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.builds(Place, _INSTANTS, st.uuids())
)
def test_a_place_comes_back_as_it_was(merchant_id: int, claim_id: int, place: Place) -> None:
    listed = PartList(b"tst1", merchant_id, claim_id)
    assert decode_cursor(listed, encode_cursor(listed, place)) == place


@pytest.mark.parametrize(
    "other", [PartList(b"tst2", 7, 41), PartList(b"tst1", 8, 41), PartList(b"tst1", 7, 42)]
)
def test_a_cursor_is_good_for_its_own_list_alone(other: PartList) -> None:
    with pytest.raises(ValidationError):
        decode_cursor(other, encode_cursor(LISTED, PLACE))


@given(st.text() | st.binary().map(lambda each: base64.urlsafe_b64encode(each).decode()))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        decode_cursor(LISTED, text)
    assert [fault.path for fault in refusal.value.faults] == ["/cursor"]


def test_an_instant_that_cannot_be_is_refused() -> None:
    packed = b"tst1" + (7).to_bytes(4) + (41).to_bytes(8) + b"\xff" * 8 + bytes(16)
    with pytest.raises(ValidationError):
        decode_cursor(LISTED, base64.urlsafe_b64encode(packed).decode().rstrip("="))
