from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.database.listed_table import CursorFormat
from dunwell.platform.errors import ValidationError

FORM = CursorFormat("payments", owner=(int,), place=(int, UUID, datetime, str, bytes))
OWNERS = st.tuples(st.integers(min_value=1, max_value=2**31 - 1))
PLACES = st.tuples(
    st.integers(min_value=0, max_value=2**63 - 1),
    st.uuids(),
    st.datetimes(timezones=st.just(UTC)),
    st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    st.binary(),
)
PLACE = (7, UUID(int=1), datetime(2026, 3, 2, 9, 0, 0, 1, UTC), "A-1", b"x")


@given(OWNERS, PLACES)
def test_a_cursor_is_parsed_to_its_position(owner: tuple[int], place: tuple[Any, ...]) -> None:
    cursor = FORM.render(owner, place)
    assert FORM.parse(owner, cursor) == place
    assert all(char.isascii() and (char.isalnum() or char in "-_") for char in cursor)


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        FORM.parse((1,), text)
    assert [fault.path for fault in refused.value.faults] == ["/cursor"]


@given(PLACES, st.integers(min_value=0, max_value=42))
def test_a_shortened_cursor_is_refused(place: tuple[Any, ...], length: int) -> None:
    with pytest.raises(ValidationError):
        FORM.parse((1,), FORM.render((1,), place)[:length])


@pytest.mark.parametrize(
    "foreign",
    [
        FORM.render((2,), PLACE),
        CursorFormat("requests", owner=(int,), place=(int,)).render((1,), PLACE),
        CursorFormat("payments", owner=(int,), place=(int,)).render((1,), PLACE[:1]),
    ],
    ids=["another owner's", "another list's", "another place's types"],
)
def test_a_foreign_cursor_is_refused(foreign: str) -> None:
    with pytest.raises(ValidationError):
        FORM.parse((1,), foreign)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, -1),
        (0, 2**63),
        (2, datetime(2026, 3, 2)),
        (2, "0001-01-01T00:00:00+23:59"),
        (3, "a\0b"),
    ],
    ids=["negative", "beyond a bigint", "without a zone", "with an offset", "NUL"],
)
def test_a_cursor_with_invalid_values_is_refused(position: int, value: object) -> None:
    forged = [*PLACE]
    forged[position] = value
    with pytest.raises(ValidationError):
        FORM.parse((1,), FORM.render((1,), forged))


def test_a_cursor_within_a_claim_is_bound_to_merchant_and_claim() -> None:
    form = CursorFormat("claim payments", owner=(int, int), place=(int,))
    assert form.parse((1, 2), form.render((1, 2), (9,))) == (9,)
    with pytest.raises(ValidationError):
        form.parse((1, 3), form.render((1, 2), (9,)))
