"""What the programs over official clients share: making a fake act, and expecting errors."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen


def act(origin: str, what: str = "act", **given: Any) -> Any:
    """Make the fake provider do something, and return its answer."""
    request = Request(f"{origin}/_fake/{what}", json.dumps(given).encode(), method="POST")  # noqa: S310
    with urlopen(request) as answer:  # noqa: S310
        return json.load(answer)


@contextmanager
def expect_error(kind: type[Exception]) -> Iterator[list[Any]]:
    """Fail unless the block raises this error, and store it in the list."""
    caught: list[Any] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
    if not caught:
        raise AssertionError(f"{kind.__name__} was not raised")
