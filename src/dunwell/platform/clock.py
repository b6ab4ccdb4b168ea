"""Clocks. All code takes the time from the Clock that it is given. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current instant, with the time zone UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class MovableClock:
    """A clock that moves only on request, for tests and test clocks of merchants."""

    def __init__(self, now: datetime) -> None:
        self._now = now.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def move_to(self, instant: datetime) -> None:
        self._now = instant.astimezone(UTC)

    def advance(self, step: timedelta) -> None:
        self._now += step
