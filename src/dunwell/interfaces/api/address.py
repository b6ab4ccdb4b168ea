"""Parse the ids in a request's path and the parameters of its query string, both strictly. Pure."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from urllib.parse import parse_qsl
from uuid import UUID

from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.shape import render_pointer, suggest_known

_DIGITS = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_GREATEST_INTEGER = 2**31 - 1
_GREATEST_BIGINT = 2**63 - 1


def parse_merchant_id(text: str) -> int:
    """Parse the id. Return 0 if the text is not an id. No merchant has the id 0, so the caller gets
    the same error as for an unknown merchant."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_INTEGER:
        return 0
    return int(text)


def parse_claim_id(text: str) -> int:
    """Parse the id. Raises NotFound with the same message as for a claim that does not exist."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_BIGINT:
        raise NotFound(f"There is no claim {text[:64]}.")
    return int(text)


def parse_item_id(text: str) -> int:
    """Parse the id. Raises NotFound with the same message as for an item that the claim does not
    have.
    """
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_BIGINT:
        raise NotFound(f"There is no item {text[:64]}.")
    return int(text)


def parse_payment_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a payment that the claim does
    not have.
    """
    return _parse_uuid(text, "payment")


def parse_payment_request_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a request that the claim does
    not have.
    """
    return _parse_uuid(text, "payment request")


def parse_payout_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a payout that does not exist."""
    return _parse_uuid(text, "payout")


def parse_mandate_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a mandate that the claim does
    not have.
    """
    return _parse_uuid(text, "mandate")


def parse_event_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for an event that does not exist."""
    return _parse_uuid(text, "event")


def parse_modality_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a modality that the claim does
    not have.
    """
    return _parse_uuid(text, "payment modality")


def parse_dispute_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for a dispute that the claim does
    not have.
    """
    return _parse_uuid(text, "dispute")


def parse_file_id(text: str) -> UUID:
    """Parse the id of a file of a dispute. Raises NotFound with the same message as for a file that
    the dispute does not have."""
    return _parse_uuid(text, "file")


def parse_communication_reference(text: str) -> UUID:
    """Parse the reference of a communication. Raises NotFound with the same message as for a
    communication that does not exist."""
    return _parse_uuid(text, "communication")


def parse_attachment_id(text: str) -> UUID:
    """Parse the id. Raises NotFound with the same message as for an attachment that the claim
    does not have.
    """
    return _parse_uuid(text, "attachment")


def parse_scenario_id(text: str) -> int:
    """Parse the id. Raises NotFound with the same message as for a scenario that does not exist."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_INTEGER:
        raise NotFound(f"There is no scenario {text[:64]}.")
    return int(text)


def _parse_uuid(text: str, kind: str) -> UUID:
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no {kind} {text[:64]}.")
    return UUID(text)


def parse_workflow_id(text: str) -> UUID | None:
    """Parse the id. Return None if the text cannot be the id of a workflow."""
    return UUID(text) if _UUID.fullmatch(text) else None


class Query:
    """The parameters of a query string. Each method parses one and records its faults; `check`
    raises all of them together."""

    def __init__(self, text: bytes) -> None:
        pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
        self._values_by_name: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values_by_name.setdefault(name, []).append(value)
        self._parsed_names: set[str] = set()
        self._faults: list[Fault] = []

    def text(self, name: str, limit: int = 255) -> str | None:
        self._parsed_names.add(name)
        values = self._values_by_name.get(name)
        if values is None:
            return None
        if len(values) > 1:
            self._add_fault(name, "Give this parameter only once.", "REPEATED")
        value = values[0]
        if not 1 <= len(value) <= limit or not value.isprintable():
            self._add_fault(name, f"Use 1 to {limit} printable characters.", "WRONG_FORMAT")
            return None
        return value

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        value = self.text(name)
        if value is not None and value not in allowed:
            message = f'"{value}" is not allowed. {suggest_known(value, allowed)}'
            self._add_fault(name, message, "NOT_ALLOWED")
        return value

    def integer(self, name: str, minimum: int = 1, maximum: int = _GREATEST_BIGINT) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if (
            not value.isascii()
            or not value.isdecimal()
            or not minimum <= int(value[:20]) <= maximum
        ):
            self._add_fault(name, f"Use an integer from {minimum} to {maximum}.", "WRONG_FORMAT")
            return None
        return int(value)

    def instant(self, name: str) -> datetime | None:
        value = self.text(name)
        if value is None:
            return None
        instant = parse_query_instant(value)
        if instant is None:
            message = "Use ISO 8601 with a time zone, for example 2026-03-02T09:00:00Z."
            if " " in value and parse_query_instant(value.replace(" ", "+")) is not None:
                message = "A plus sign in a URL means a space. Write it as %2B."
            self._add_fault(name, message, "WRONG_FORMAT")
        return instant

    def check(self) -> None:
        """Check the whole query string, after all parameters were parsed. Raises ValidationError if
        a value is invalid or a parameter is unknown."""
        for name in self._values_by_name:
            if name not in self._parsed_names:
                hint = suggest_known(name, sorted(self._parsed_names))
                message = f'"{name[:60]}" is not a parameter. {hint}'
                self._add_fault(name[:60], message, "UNKNOWN_FIELD")
        if self._faults:
            raise ValidationError(self._faults)

    def _add_fault(self, name: str, message: str, code: str) -> None:
        self._faults.append(Fault(render_pointer([name]), message, code))


def parse_query_instant(text: str) -> datetime | None:
    """Return an ISO 8601 instant in UTC, or None if the text is not one or lacks its zone."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo is None or not 1900 < instant.year < 9000:
        return None
    return instant.astimezone(UTC)
