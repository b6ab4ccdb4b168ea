"""Reads a query string strictly: every fault at once, unknown and repeated names included. Pure."""

from collections.abc import Collection
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import render_nearest, render_pointer

_GREATEST_BIGINT = 2**63 - 1


class Query:
    """A query string. Each reading notes its fault; `check` raises them together."""

    def __init__(self, text: bytes) -> None:
        pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
        self._given: dict[str, list[str]] = {}
        for name, value in pairs:
            self._given.setdefault(name, []).append(value)
        self._known: set[str] = set()
        self._faults: list[Fault] = []

    def text(self, name: str, limit: int = 255) -> str | None:
        self._known.add(name)
        values = self._given.get(name)
        if values is None:
            return None
        if len(values) > 1:
            self._refuse(name, "Give it once.", "REPEATED")
        value = values[0]
        if not 1 <= len(value) <= limit or not value.isprintable():
            self._refuse(name, f"Use 1 to {limit} printable characters.", "WRONG_FORMAT")
            return None
        return value

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        value = self.text(name)
        if value is not None and value not in allowed:
            message = f'"{value}" is not allowed. {render_nearest(value, allowed)}'
            self._refuse(name, message, "NOT_ALLOWED")
        return value

    def integer(self, name: str, least: int = 1, most: int = _GREATEST_BIGINT) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not value.isascii() or not value.isdecimal() or not least <= int(value[:20]) <= most:
            self._refuse(name, f"Use an integer from {least} to {most}.", "WRONG_FORMAT")
            return None
        return int(value)

    def instant(self, name: str) -> datetime | None:
        value = self.text(name)
        if value is None:
            return None
        instant = read_instant(value)
        if instant is None:
            message = "Use ISO 8601 with a zone, as 2026-03-02T09:00:00Z."
            if " " in value and read_instant(value.replace(" ", "+")) is not None:
                message = "A plus in an address is read as a blank; write it as %2B."
            self._refuse(name, message, "WRONG_FORMAT")
        return instant

    def check(self) -> None:
        """Raise ValidationError if anything read, or anything not asked for, is wrong."""
        for name in self._given:
            if name not in self._known:
                message = f'"{name[:60]}" is not known. {render_nearest(name, sorted(self._known))}'
                self._refuse(name[:60], message, "UNKNOWN_FIELD")
        if self._faults:
            raise ValidationError(self._faults)

    def _refuse(self, name: str, message: str, code: str) -> None:
        self._faults.append(Fault(render_pointer([name]), message, code))


def read_instant(text: str) -> datetime | None:
    """An ISO 8601 instant with its zone, in UTC; None: it is none."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo is None or not 1900 < instant.year < 9000:
        return None
    return instant.astimezone(UTC)
