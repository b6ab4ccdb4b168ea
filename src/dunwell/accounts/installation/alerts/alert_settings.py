"""Who is told of alarms, by what, and from when on something is one: a key of the installation
file. Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Meta, field

from dunwell.accounts.installation.delivery_providers import Line, LineName, LinePart
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.texts import is_email_address

Address = Annotated[str, Meta(min_length=3, max_length=254)]
Minutes = Annotated[int, Meta(ge=5, le=10_080)]


class Failing(LinePart, frozen=True):
    """From when on a line, or a receiving domain, loses too much: both have to be reached, of what
    was sent in a day."""

    percent: Annotated[float, Meta(gt=0, le=100)] = 5.0
    least: Annotated[int, Meta(ge=3, le=100_000)] = 10

    def is_reached(self, *, sent: int, failed: int) -> bool:
        """sent: all that were given to the line, those that failed among them."""
        return failed >= self.least and failed * 100 >= sent * self.percent


class Alarms(LinePart, frozen=True):
    """Nobody in `email`: alarms stand in the portal alone."""

    email: Annotated[list[Address], Meta(max_length=20)] = field(default_factory=list)
    # A line for e-mail; none: the first one that works.
    provider: LineName | None = None
    # The sender; none: the operator's contact, else the first of `email`.
    sender: Address | None = field(default=None, name="from")
    language: Literal["en", "de"] = "en"
    # Told again while it lasts.
    again_after_hours: Annotated[int, Meta(ge=1, le=168)] = 24
    # What waits so long to leave, to be worked on or to be fetched is late.
    late_after_minutes: Minutes = 60
    # Sends nobody knows the end of, and what people wrote or objected to, may wait so long.
    unseen_after_minutes: Minutes = 1_440
    failing: Failing = field(default_factory=Failing)


def find_alarm_faults(alarms: Alarms) -> Iterator[Fault]:
    """Beyond its shape, with pointers into the file."""
    for index, address in enumerate(alarms.email):
        if not is_email_address(address):
            yield _say_wrong(["alerts", "email", index], address)
    if alarms.sender is not None and not is_email_address(alarms.sender):
        yield _say_wrong(["alerts", "from"], alarms.sender)


def find_line_faults(alarms: Alarms | None, lines: Mapping[str, Line]) -> Iterator[Fault]:
    """lines: those there are once the file is applied."""
    if alarms is None or alarms.provider is None:
        return
    line = lines.get(alarms.provider)
    if line is None or line.channel != "EMAIL":
        words = f'There is no line "{alarms.provider}" for e-mail. Name one, or leave it out.'
        yield Fault(render_pointer(["alerts", "provider"]), words, "UNKNOWN_LINE")


def _say_wrong(path: list[str | int], address: str) -> Fault:
    words = f'"{address}" is no plain e-mail address such as "ops@example.com".'
    return Fault(render_pointer(path), words, "WRONG_EMAIL")
