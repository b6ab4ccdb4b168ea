"""Seal the ledger of contacts and the audit log: the keyed digests of entries and seals, and the
job that a timer runs.

A seal covers a batch of rows and the previous seal; its digest needs the secret key of the
installation. Sealing writes no audit entry. A seal documents itself, and the entry would need a
seal in turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    SealHead,
    find_newest_seal,
    list_merchants_to_seal,
    load_unsealed_rows,
    save_seal,
    try_lock_sealing,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# How often a worker seals new rows.
SEAL_SECONDS = 5.0
BATCH_SIZE = 10_000
# The digest before the first seal of a chain.
FIRST_PREVIOUS_DIGEST = bytes(32)

_RECIPIENT = "ledger.recipient"
_CONTENT = "ledger.content"
_ROW = "ledger.row"
_SEAL = "ledger.seal"

log = structlog.get_logger(__name__)


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
    """Return the digest of a message's recipient for the ledger."""
    text = _encode_parts([str(merchant_id), channel, recipient])
    return keys.digest(_RECIPIENT, text, key_version)


def digest_content(
    keys: KeyRing, merchant_id: int, parts: Iterable[str | None], key_version: int | None = None
) -> bytes:
    """Return the digest of a message's content.

    `parts` are `Content.parts`, with the link token and the codes masked.
    """
    return keys.digest(_CONTENT, _encode_parts([str(merchant_id), *parts]), key_version)


def digest_row(
    keys: KeyRing, merchant_id: int, table: str, fields: str, key_version: int | None = None
) -> bytes:
    """Return the digest of a row.

    `fields` has every column of the row as one JSON text, including the number of its seal.
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


async def seal_ledger(resources: Resources) -> int:
    """Seal one batch for each merchant with unsealed rows. Return the number of merchants that
    may have more rows left."""
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_to_seal(connection)
    unfinished = 0
    for merchant_id in merchant_ids:
        try:
            unfinished += await seal_batch(resources, merchant_id) >= BATCH_SIZE
        except Unavailable:
            raise
        except Exception as error:
            # A fault of one merchant must not stop the sealing of the others.
            log.exception("ledger not sealed", merchant_id=merchant_id, error=type(error).__name__)
    return unfinished


async def seal_batch(resources: Resources, merchant_id: int) -> int:
    """Seal one batch of a merchant. Return the number of rows of the larger table, or 0 if there
    was nothing to seal or another worker is sealing."""
    async with resources.database.transaction() as tx:
        if not await try_lock_sealing(tx, merchant_id):
            return 0
        head = await find_newest_seal(tx, merchant_id) or SealHead(0, FIRST_PREVIOUS_DIGEST)
        version = max(head.key_version, resources.keys.version)
        seal, rows = head.seal + 1, {}
        for table in (CONTACTS, AUDITS):
            unsealed = await load_unsealed_rows(
                tx, merchant_id, table=table, seal=seal, limit=BATCH_SIZE
            )
            rows[table] = [
                (
                    row.key,
                    digest_row(
                        resources.keys,
                        merchant_id,
                        table=table,
                        fields=row.fields,
                        key_version=version,
                    ),
                )
                for row in unsealed
            ]
        contacts, audits = rows[CONTACTS], rows[AUDITS]
        if not contacts and not audits:
            return 0
        parts = SealParts(seal, head.digest, [d for _, d in contacts], [d for _, d in audits])
        digest = digest_seal(resources.keys, merchant_id, parts, version)
        new_head = SealHead(seal, digest, version)
        now = resources.clock.now()
        await save_seal(
            tx, merchant_id, head=new_head, contacts=contacts, audits=audits, sealed_at=now
        )
        return max(len(contacts), len(audits))
