"""Events that repeat during an outage are logged once a minute."""

from typing import Any

import pytest
import structlog

from dunwell.platform.logging import OncePerMinute


class Written:
    """Collects the logged lines, second by second."""

    def __init__(self) -> None:
        self.second = 0.0
        self._filter = OncePerMinute(lambda: self.second)

    def passes(self, event: str, **fields: Any) -> dict[str, Any] | None:
        try:
            return dict(self._filter(None, "error", {"event": event, **fields}))
        except structlog.DropEvent:
            return None


def test_one_line_a_minute_is_logged_with_the_number_of_others() -> None:
    written = Written()
    assert written.passes("round failed", loop="a", once_a_minute=True) == {
        "event": "round failed", "loop": "a"
    }  # fmt: skip
    for _ in range(7):
        written.second += 8
        assert written.passes("round failed", loop="b", once_a_minute=True) is None
    written.second = 60
    assert written.passes("round failed", loop="c", once_a_minute=True) == {
        "event": "round failed", "loop": "c", "left_out": 7
    }  # fmt: skip


@pytest.mark.parametrize("fields", [{}, {"once_a_minute": False}])
def test_other_events_are_all_logged(fields: dict[str, Any]) -> None:
    written = Written()
    assert written.passes("round failed", once_a_minute=True) is not None
    assert [written.passes("round failed", **fields) for _ in range(3)] == [
        {"event": "round failed"}
    ] * 3
    assert written.passes("lease not renewed", once_a_minute=True) is not None
