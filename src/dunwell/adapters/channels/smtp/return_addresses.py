"""The addresses that come back to us: one for each message, at the line's return domain."""

import re
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from dunwell.contact.sending.references import read_reference, write_reference
from dunwell.contact.sending.report import Reference
from dunwell.platform.crypto import KeyRing

# What a mail server reports to, and what people answer to.
Purpose = Literal["bounce", "reply"]
_ADDRESS = re.compile(r"(bounce|reply)\+([a-z2-7]{45})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReturnAddress:
    purpose: Purpose
    reference: Reference


def write_address(
    keys: KeyRing, purpose: Purpose, domain: str, *, merchant_id: int, communication_id: UUID
) -> str:
    return f"{purpose}+{write_reference(keys, merchant_id, communication_id)}@{domain}"


def read_address(keys: KeyRing, address: str) -> ReturnAddress | None:
    """None: it is none that we wrote."""
    found = _ADDRESS.fullmatch(address.rpartition("@")[0])
    if found is None:
        return None
    reference = read_reference(keys, found[2])
    purpose: Purpose = "bounce" if found[1].lower() == "bounce" else "reply"
    return None if reference is None else ReturnAddress(purpose, reference)


def find_address(keys: KeyRing, text: str) -> ReturnAddress | None:
    """The first of ours that stands anywhere in it: a mail server may give our message back under
    an address of its own."""
    for found in _ADDRESS.finditer(text):
        address = read_address(keys, f"{found[0]}@")
        if address is not None:
            return address
    return None
