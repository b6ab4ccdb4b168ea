"""Identifiers that leave the house: UUIDv7 (RFC 9562), ordered by time, random in the rest."""

import secrets
from datetime import datetime
from typing import Protocol
from uuid import UUID


class Ids(Protocol):
    def new(self, at: datetime) -> UUID:
        """A fresh identifier whose leading 48 bits are the milliseconds of `at`."""


def uuid7(at: datetime, randomness: bytes) -> UUID:
    """Lay out RFC 9562's version 7 from an instant and ten random bytes."""
    milliseconds = int(at.timestamp() * 1000)
    value = (milliseconds << 80) | int.from_bytes(randomness[:10], "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return UUID(int=value)


class RandomIds:
    """Ids of one millisecond ascend within a process (RFC 9562, 6.2, method 2): what one
    transaction writes in order is read in order."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, at: datetime) -> UUID:
        drawn = uuid7(at, secrets.token_bytes(10)).int
        if drawn >> 80 == self._last >> 80 and drawn <= self._last:
            drawn = self._last + 1 + secrets.randbits(32)
        self._last = drawn
        return UUID(int=drawn)
