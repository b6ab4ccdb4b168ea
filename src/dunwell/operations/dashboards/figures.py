"""What is told of lines: how much waits, left, arrived and failed, and why. Pure."""

from datetime import datetime

import msgspec


class ProviderBacklog(msgspec.Struct, frozen=True, gc=False):
    waiting: int
    # Of the one that has waited longest; none: nothing waits.
    since: datetime | None


class ArrivalFigures(msgspec.Struct, frozen=True, gc=False):
    """Of so many given to a line how many were reported to have arrived, and how many failed."""

    sent: int
    delivered: int
    failed: int

    @property
    def silent(self) -> int:
        """Those that nothing was reported of: no failure, and for e-mails the usual."""
        return self.sent - self.delivered - self.failed


class DestinationFigures(msgspec.Struct, frozen=True, gc=False):
    """What was sent by a line to one destination: an e-mail's domain, a number's country."""

    line: str
    # None: not known.
    destination: str | None
    sent: ArrivalFigures
    # To whom it failed.
    people: int


class FailureReason(msgspec.Struct, frozen=True, gc=False):
    """Messages to one destination that failed for one reason."""

    line: str
    destination: str | None
    cause: str
    reason: str
    messages: int
    last_at: datetime


class UnmatchedReport(msgspec.Struct, frozen=True, gc=False):
    line: str
    provider_message_id: str
    state: str
    reason: str
    received_at: datetime
