"""Where instants come from. All code takes the time from the Clock it is given. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, aware, in UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class MovableClock:
    """Stands still until moved: for tests and rehearsals."""

    def __init__(self, now: datetime) -> None:
        self._now = now.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def move_to(self, instant: datetime) -> None:
        self._now = instant.astimezone(UTC)

    def advance(self, step: timedelta) -> None:
        self._now += step
