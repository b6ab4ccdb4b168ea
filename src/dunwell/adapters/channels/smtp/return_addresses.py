"""Return addresses: each message has its own bounce and reply address at the delivery provider's
return domain, so that whatever comes back identifies the message."""

import re
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from dunwell.contact.sending.references import build_reference, parse_reference
from dunwell.contact.sending.report import Reference
from dunwell.platform.crypto import KeyRing

# "bounce" for reports of mail servers, "reply" for replies of people.
Purpose = Literal["bounce", "reply"]
_ADDRESS = re.compile(r"(bounce|reply)\+([a-z2-7]{45})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReturnAddress:
    purpose: Purpose
    reference: Reference


def build_return_address(
    keys: KeyRing, purpose: Purpose, domain: str, *, merchant_id: int, communication_id: UUID
) -> str:
    return f"{purpose}+{build_reference(keys, merchant_id, communication_id)}@{domain}"


def parse_return_address(keys: KeyRing, address: str) -> ReturnAddress | None:
    """Return the parts of an address, or None if this installation did not create it."""
    match = _ADDRESS.fullmatch(address.rpartition("@")[0])
    if match is None:
        return None
    reference = parse_reference(keys, match[2])
    purpose: Purpose = "bounce" if match[1].lower() == "bounce" else "reply"
    return None if reference is None else ReturnAddress(purpose, reference)


def find_first_return_address(keys: KeyRing, text: str) -> ReturnAddress | None:
    """Return the first valid return address in a text, or None. It identifies a bounce that was not
    sent to the return address itself, but contains our message."""
    for match in _ADDRESS.finditer(text):
        address = parse_return_address(keys, f"{match[0]}@")
        if address is not None:
            return address
    return None
