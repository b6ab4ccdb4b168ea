"""Ids, queries and instants from requests are parsed strictly."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.interfaces.api.address import (
    Query,
    parse_claim_id,
    parse_merchant_id,
    parse_query_instant,
    parse_workflow_id,
)
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.text.wire import render_instant


@given(st.integers(1, 2**63 - 1))
def test_every_bigint_is_a_valid_claim_id(number: int) -> None:
    assert parse_claim_id(str(number)) == number


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "01", "1 ", "+1", "1e3", "٣", str(2**63), "9" * 99]
)
def test_an_invalid_id_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        parse_claim_id(text)
    assert parse_merchant_id(text) == 0


@given(st.text())
def test_parsing_ids_and_queries_never_crashes(text: str) -> None:
    assert parse_merchant_id(text) >= 0
    assert parse_workflow_id(text) is None or UUID(text)
    query = Query(text.encode("utf-8", "surrogatepass"))
    query.text("cursor")
    query.integer("limit")
    query.instant("since")


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))
def test_an_instant_is_parsed_as_it_was_rendered(naive: datetime) -> None:
    instant = naive.replace(tzinfo=UTC, microsecond=naive.microsecond // 1000 * 1000)

    assert parse_query_instant(render_instant(instant)) == instant


def test_all_faults_of_a_query_are_reported_at_once() -> None:
    query = Query(b"limit=x&since=now&colour=red")
    query.integer("limit")
    query.instant("since")

    with pytest.raises(ValidationError) as caught:
        query.check()

    assert [fault.path for fault in caught.value.faults] == ["/limit", "/since", "/colour"]
