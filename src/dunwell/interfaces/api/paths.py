"""Reads the ids in paths, strictly: what cannot be an id is absent, never a fault of ours. Pure."""

import re
from uuid import UUID

from dunwell.platform.errors import NotFound

_DIGITS = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_GREATEST_INTEGER = 2**31 - 1
_GREATEST_BIGINT = 2**63 - 1


def read_merchant_id(text: str) -> int:
    """The id, or 0, which no merchant has: then no merchant is found, whoever asks."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_INTEGER:
        return 0
    return int(text)


def read_claim_id(text: str) -> int:
    """Raises NotFound in the words used for a claim that does not exist."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_BIGINT:
        raise NotFound(f"There is no claim {text[:64]}.")
    return int(text)


def read_item_id(text: str) -> int:
    """Raises NotFound; whether the claim has it is found out later, and told alike."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_BIGINT:
        raise NotFound(f"There is no item {text[:64]}.")
    return int(text)


def read_payment_id(text: str) -> UUID:
    """Raises NotFound; whether the claim has it is found out later, and told alike."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no payment {text[:64]}.")
    return UUID(text)


def read_payment_request_id(text: str) -> UUID:
    """Raises NotFound in the words used for one that the claim does not have."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no payment request {text[:64]}.")
    return UUID(text)


def read_event_id(text: str) -> UUID:
    """Raises NotFound in the words used for an event that does not exist."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no event {text[:64]}.")
    return UUID(text)


def read_modality_id(text: str) -> UUID:
    """Raises NotFound; whether the claim has it is found out later, and told alike."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no payment modality {text[:64]}.")
    return UUID(text)


def read_dispute_id(text: str) -> UUID:
    """Raises NotFound; whether the claim has it is found out later, and told alike."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no dispute {text[:64]}.")
    return UUID(text)


def read_file_id(text: str) -> UUID:
    """A dispute's file's. Raises NotFound; whether the dispute has it is found out later."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no file {text[:64]}.")
    return UUID(text)


def read_reference(text: str) -> UUID:
    """A communication's. Raises NotFound in the words used for one that does not exist."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no communication {text[:64]}.")
    return UUID(text)


def read_attachment_id(text: str) -> UUID:
    """Raises NotFound; whether the claim has it is found out later, and told alike."""
    if not _UUID.fullmatch(text):
        raise NotFound(f"There is no attachment {text[:64]}.")
    return UUID(text)


def read_scenario_id(text: str) -> int:
    """Raises NotFound in the words used for a scenario that does not exist."""
    if not _DIGITS.fullmatch(text) or int(text) > _GREATEST_INTEGER:
        raise NotFound(f"There is no scenario {text[:64]}.")
    return int(text)


def read_workflow_id(text: str) -> UUID | None:
    """None: it cannot be a workflow's id."""
    return UUID(text) if _UUID.fullmatch(text) else None
