"""The SQL of the moment of sending: which contacts still may go, and marking those that do, with
their content and the guards they raise (CONTRACT 13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.contact.escalation.claim_contact_store import CONTACTS
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.guard_store import write_days
from dunwell.contact.messages.guards import RaisedGuard
from dunwell.contact.messages.ledger import digest_content, digest_recipient
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.database.sql import load_statement

_LOCK = load_statement(__file__, "lock_contacts.sql", is_held=CONTACTS.is_held("$2", "m."))
_HAND_OVER = load_statement(__file__, "hand_over.sql")


class GuardBegun(Exception):  # noqa: N818 - reads as what happened
    """Somebody else contacted one of these persons for the first time at the same moment."""


@dataclass(frozen=True, slots=True)
class LockedContact:
    planned_at: datetime
    is_suppressed: bool
    # Nobody may contact the person.
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class Passing:
    """What goes out: each message with the identities of who is contacted by it."""

    messages: Sequence[tuple[RenderedContact, Sequence[bytes]]]
    raised: Sequence[RaisedGuard]
    # The merchant's time, and the day in its zone.
    now: datetime
    today: date


async def lock_contacts(
    tx: Connection,
    merchant_id: int,
    lease: Lease,
    rendered: Mapping[UUID, tuple[RenderedContact, Sequence[bytes], Sequence[bytes]]],
) -> dict[UUID, LockedContact]:
    """Those of the rendered contacts that still may be sent; each is given with the digests of its
    address as suppressions know it, and with its person's identities. They are locked until the
    transaction ends, their claims first."""
    rows = await tx.fetch(
        _LOCK, merchant_id, lease.lease_id, list(rendered),
        [one.planned.claim_version for one, _, _ in rendered.values()],
        [_write_digests(address) for _, address, _ in rendered.values()],
        [_write_digests(identities) for _, _, identities in rendered.values()],
    )  # fmt: skip
    return {
        row["communication_id"]: LockedContact(
            row["planned_at"], row["is_suppressed"], row["is_stopped"]
        )
        for row in rows
    }


async def hand_over(
    tx: Connection, keys: KeyRing, merchant_id: int, lease: Lease, passing: Passing
) -> None:
    """Contacts and known guards must be locked. Raises GuardBegun: nothing of it may be kept."""
    rendered = [one for one, _ in passing.messages]
    begun = await tx.fetchval(
        _HAND_OVER, merchant_id, passing.now, passing.today, lease.until,
        [each.planned.contact.communication_id for each in rendered],
        [each.version_id for each in rendered],
        [each.content.recipient for each in rendered],
        [each.content.language for each in rendered],
        [each.content.subject for each in rendered],
        [each.content.body_text for each in rendered],
        [each.content.body_html for each in rendered],
        [each.link_hash for each in rendered],
        [each.code_digest for each in rendered],
        [each.content.document_key for each in rendered],
        [_write_ids(each.content.attachment_ids) for each in rendered],
        [_digest_recipient(keys, merchant_id, each) for each in rendered],
        [digest_content(keys, merchant_id, each.content.parts) for each in rendered],
        [_write_digests(identities) for _, identities in passing.messages],
        [each.identity for each in passing.raised],
        [write_days(each.days) for each in passing.raised],
        [each.per_day for each in passing.raised],
        [each.per_week for each in passing.raised],
        [each.is_new for each in passing.raised],
        keys.version,
        [each.check_digest for each in rendered],
    )  # fmt: skip
    if begun != sum(each.is_new for each in passing.raised):
        raise GuardBegun


def _digest_recipient(keys: KeyRing, merchant_id: int, each: RenderedContact) -> bytes:
    channel = each.planned.contact.channel
    return digest_recipient(keys, merchant_id, channel, each.content.recipient)


def _write_ids(ids: Sequence[UUID]) -> str:
    """As PostgreSQL writes an array: unnest would take an array of arrays apart."""
    return "{" + ",".join(map(str, ids)) + "}"


def _write_digests(digests: Sequence[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{digest.hex()}"' for digest in digests) + "}"
