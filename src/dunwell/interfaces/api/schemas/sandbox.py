"""The sandbox merchant's clock (CONTRACT 12)."""

from typing import Annotated

from msgspec import Meta

from dunwell.platform.text.wire import Given, GivenInstant, Instant, Wire


class TestClock(Wire, frozen=True):
    now: Annotated[Instant, Meta(description="The sandbox merchant's present.")]


class TestClockAdvance(Given, frozen=True):
    advance_to: Annotated[GivenInstant, Meta(description="Only forwards.")]


class TestClockAdvanced(Wire, frozen=True):
    """What happened on the way."""

    now: Instant
    steps_run: int
    events_raised: int
