"""Identifiers are UUIDs of version 7, have their instant, and ascend within a process."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.ids import RandomIds, uuid7

_INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(_INSTANTS, st.binary(min_size=10, max_size=10))
def test_an_id_has_version_variant_and_milliseconds(at: datetime, randomness: bytes) -> None:
    made = uuid7(at, randomness)
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == int(at.timestamp() * 1000)


@given(_INSTANTS)
def test_ids_of_one_millisecond_ascend(at: datetime) -> None:
    ids = RandomIds()
    made = [ids.new(at) for _ in range(200)]
    assert made == sorted(set(made))
    assert {each.version for each in made} == {7}
