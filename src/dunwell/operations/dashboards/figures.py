"""Figures of delivery providers: waiting, sent, delivered and failed messages. Pure."""

from datetime import datetime

import msgspec


class ProviderBacklog(msgspec.Struct, frozen=True, gc=False):
    waiting: int
    # When the oldest message started to wait. None if nothing waits.
    since: datetime | None


class ArrivalFigures(msgspec.Struct, frozen=True, gc=False):
    """How many messages were sent, reported as delivered, and failed."""

    sent: int
    delivered: int
    failed: int

    @property
    def silent(self) -> int:
        """Messages without a report. For e-mails this is normal and no failure."""
        return self.sent - self.delivered - self.failed


class DestinationFigures(msgspec.Struct, frozen=True, gc=False):
    """Messages of a provider to one destination: an e-mail domain, or the country of a number."""

    provider: str
    # None if it is unknown.
    destination: str | None
    sent: ArrivalFigures
    # The number of people whose messages failed.
    people: int


class FailureReason(msgspec.Struct, frozen=True, gc=False):
    """The messages to one destination that failed for one reason."""

    provider: str
    destination: str | None
    cause: str
    reason: str
    messages: int
    last_at: datetime


class UnmatchedReport(msgspec.Struct, frozen=True, gc=False):
    provider: str
    provider_message_id: str
    state: str
    reason: str
    received_at: datetime
