"""The keyed digests behind the ledger: of whom a message went to and what it said, of each row, and
of the seals that chain the rows. Without the installation's key none of them can be made anew.

What is digested is spelled out without ambiguity: each part with its length before it. Digests of
one merchant never equal another's, even for the same address. `key_version`: the version of the
secret key that what is checked was digested with; none: the one in use. Versions a ring does not
have raise KeyError.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dunwell.platform.crypto import KeyRing

# What the first seal of a chain follows.
BEGINNING = bytes(32)

_RECIPIENT = "ledger.recipient"
_CONTENT = "ledger.content"
_ROW = "ledger.row"
_SEAL = "ledger.seal"


@dataclass(frozen=True, slots=True)
class SealParts:
    """What a seal covers: its place in the chain, and the digests of its rows by their keys."""

    seal: int
    previous: bytes
    contacts: Sequence[bytes]
    audits: Sequence[bytes]


def digest_recipient(
    keys: KeyRing, merchant_id: int, channel: str, recipient: str, key_version: int | None = None
) -> bytes:
    text = _spell_out([str(merchant_id), channel, recipient])
    return keys.digest(_RECIPIENT, text, key_version)


def digest_content(
    keys: KeyRing, merchant_id: int, parts: Iterable[str | None], key_version: int | None = None
) -> bytes:
    """`parts`: Content.parts, as stored: link token and code masked."""
    return keys.digest(_CONTENT, _spell_out([str(merchant_id), *parts]), key_version)


def digest_row(
    keys: KeyRing, merchant_id: int, table: str, fields: str, key_version: int | None = None
) -> bytes:
    """`fields`: every column of the row, its seal's number included, as one JSON text."""
    return keys.digest(_ROW, _spell_out([str(merchant_id), table, fields]), key_version)


def digest_seal(
    keys: KeyRing, merchant_id: int, parts: SealParts, key_version: int | None = None
) -> bytes:
    numbers = [merchant_id, parts.seal, len(parts.contacts), len(parts.audits)]
    head = _spell_out([str(number) for number in numbers])
    covered = b"".join([head, parts.previous, *parts.contacts, *parts.audits])
    return keys.digest(_SEAL, covered, key_version)


def _spell_out(parts: Iterable[str | None]) -> bytes:
    spelled = []
    for part in parts:
        if part is None:
            spelled.append(b"-,")
        else:
            encoded = part.encode()
            spelled.append(b"%d:%b," % (len(encoded), encoded))
    return b"".join(spelled)
