"""The keyed digests of ledger entries and seals, and the findings of a verification."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dunwell.platform.crypto import KeyRing

# The digest before the first seal of a chain.
FIRST_PREVIOUS_DIGEST = bytes(32)

_RECIPIENT = "ledger.recipient"
_CONTENT = "ledger.content"
_ROW = "ledger.row"
_SEAL = "ledger.seal"


@dataclass(frozen=True, slots=True)
class SealParts:
    """The data that a seal covers: its place in the chain and the digests of its rows, ordered by
    key."""

    seal: int
    previous: bytes
    contacts: Sequence[bytes]
    audits: Sequence[bytes]


def digest_recipient(
    keys: KeyRing, merchant_id: int, channel: str, recipient: str, key_version: int | None = None
) -> bytes:
    text = _encode_parts([str(merchant_id), channel, recipient])
    return keys.digest(_RECIPIENT, text, key_version)


def digest_content(
    keys: KeyRing, merchant_id: int, parts: Iterable[str | None], key_version: int | None = None
) -> bytes:
    """Return the digest of a message's content.

    parts: `Content.parts`, with the link token and the codes masked.
    """
    return keys.digest(_CONTENT, _encode_parts([str(merchant_id), *parts]), key_version)


def digest_row(
    keys: KeyRing, merchant_id: int, table: str, fields: str, key_version: int | None = None
) -> bytes:
    """Return the digest of a row.

    fields: every column of the row as one JSON text, including the number of its seal.
    """
    return keys.digest(_ROW, _encode_parts([str(merchant_id), table, fields]), key_version)


def digest_seal(
    keys: KeyRing, merchant_id: int, parts: SealParts, key_version: int | None = None
) -> bytes:
    numbers = [merchant_id, parts.seal, len(parts.contacts), len(parts.audits)]
    head = _encode_parts([str(number) for number in numbers])
    covered = b"".join([head, parts.previous, *parts.contacts, *parts.audits])
    return keys.digest(_SEAL, covered, key_version)


def _encode_parts(parts: Iterable[str | None]) -> bytes:
    encoded_parts = []
    for part in parts:
        if part is None:
            encoded_parts.append(b"-,")
        else:
            encoded = part.encode()
            encoded_parts.append(b"%d:%b," % (len(encoded), encoded))
    return b"".join(encoded_parts)


# The maximum number of findings that are listed for one merchant. Further ones are only counted.
MAX_FINDINGS = 1000


class LedgerFault(StrEnum):
    ROW_ALTERED = "ROW_ALTERED"
    ROWS_MISSING = "ROWS_MISSING"
    ROWS_ADDED = "ROWS_ADDED"
    SEAL_ALTERED = "SEAL_ALTERED"
    SEAL_MISSING = "SEAL_MISSING"
    HEAD_MISSING = "HEAD_MISSING"
    CONTACTED_TWICE = "CONTACTED_TWICE"
    CONTACT_CONTRADICTS = "CONTACT_CONTRADICTS"
    CONTACT_MISSING = "CONTACT_MISSING"
    CONTENT_ALTERED = "CONTENT_ALTERED"
    RECIPIENT_ALTERED = "RECIPIENT_ALTERED"


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    fault: LedgerFault
    # A sentence that names the row, contact or seal and the fault.
    message: str
    # The number of the seal, if the finding is about one.
    seal: int | None = None


@dataclass(slots=True)
class LedgerFindings:
    listed: list[LedgerFinding] = field(default_factory=list)
    count: int = 0

    def add(self, finding: LedgerFinding) -> None:
        self.count += 1
        if len(self.listed) < MAX_FINDINGS:
            self.listed.append(finding)
