"""The parts of a request's address that the pages read."""

from typing import Any

import pytest

from dunwell.interfaces.web.requests import PageRequest

_MOST = 4096


async def _receive() -> Any:
    raise AssertionError("an address is read without the body")


def a_visit(query: str) -> PageRequest:
    return PageRequest(
        {"type": "http", "headers": [], "query_string": query.encode()},
        _receive,
        "https://pay.example",
    )


def test_a_hundred_selected_items_are_read() -> None:
    items = [str(9_999_999_999 - number) for number in range(100)]
    visit = a_visit("&".join(f"item={item}" for item in items))
    assert visit.query == {"item": items}


@pytest.mark.parametrize(
    ("length", "language"), [(_MOST, "en"), (_MOST + 1, "e"), (_MOST * 1000, None)]
)
def test_only_the_first_four_kibibytes_of_a_query_are_read(
    length: int, language: str | None
) -> None:
    end = "&lang=en"
    visit = a_visit("x" * (length - len(end)) + end)
    assert visit.chosen_language == language
