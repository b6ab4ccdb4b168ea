"""Identifiers that clients see: UUIDv7 (RFC 9562), ordered by time and otherwise random."""

import secrets
from datetime import datetime
from typing import Protocol
from uuid import UUID


class Ids(Protocol):
    def new(self, at: datetime) -> UUID:
        """Return a new identifier whose first 48 bits are the milliseconds of `at`."""


def uuid7(at: datetime, randomness: bytes) -> UUID:
    """Build a UUID of version 7 (RFC 9562) from an instant and ten random bytes."""
    milliseconds = int(at.timestamp() * 1000)
    value = (milliseconds << 80) | int.from_bytes(randomness[:10], "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return UUID(int=value)


class RandomIds:
    """Creates ids that ascend within a millisecond in one process (RFC 9562, 6.2, method 2), so
    that the rows of one transaction are read in the order in which they were written."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, at: datetime) -> UUID:
        value = uuid7(at, secrets.token_bytes(10)).int
        if value >> 80 == self._last >> 80 and value <= self._last:
            value = self._last + 1 + secrets.randbits(32)
        self._last = value
        return UUID(int=value)
