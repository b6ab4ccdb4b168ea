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
    def new(self, at: datetime) -> UUID:
        return uuid7(at, secrets.token_bytes(10))
