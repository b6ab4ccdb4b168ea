"""Checks a merchant's ledger of contacts against the contacts themselves: nobody contacted twice,
nothing settled that the ledger does not tell, nothing told of a contact that never was, and every
stored message as it was handed over. An erased claim's rows stand for themselves.
"""

from typing import Protocol
from uuid import UUID

from dunwell.contact.messages.contact_check_store import (
    StoredContact,
    ToldTwice,
    stream_contents,
    stream_contradictions,
    stream_other_digests,
    stream_told_twice,
    stream_without_contact,
)
from dunwell.contact.messages.ledger import digest_content, digest_recipient
from dunwell.contact.messages.ledger_findings import Fault, Finding, Findings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


class _OfContact(Protocol):
    @property
    def communication_id(self) -> UUID: ...

    @property
    def claim_id(self) -> int: ...


async def check_contacts(
    tx: Connection, keys: KeyRing, merchant_id: int, findings: Findings
) -> None:
    """Within a transaction of one snapshot."""
    async for twice in stream_told_twice(tx, merchant_id):
        findings.add(_describe_twice(twice))
    async for each in stream_contradictions(tx, merchant_id):
        told = f"tells {each.told}" if each.told else "does not tell of it"
        words = f"is {each.state}, but the ledger {told}"
        findings.add(_describe(Fault.CONTACT_CONTRADICTS, each, words))
    async for missing in stream_without_contact(tx, merchant_id):
        words = f"is not there as contact_ledger {missing.entry_id} ({missing.outcome}) tells it"
        findings.add(_describe(Fault.CONTACT_MISSING, missing, words))
    async for other in stream_other_digests(tx, merchant_id):
        fault = Fault.CONTENT_ALTERED if other.is_content else Fault.RECIPIENT_ALTERED
        findings.add(_describe(fault, other, "bears other digests than its row of the ledger"))
    async for stored in stream_contents(tx, merchant_id):
        _check_content(keys, merchant_id, stored, findings)


def _check_content(
    keys: KeyRing, merchant_id: int, stored: StoredContact, findings: Findings
) -> None:
    content = stored.content
    if content.key_version not in keys.versions:
        words = (
            f"was handed over with version {content.key_version} of the secret key, unknown here"
        )
        findings.add(_describe(Fault.CONTENT_ALTERED, stored, words))
        return
    recipient = digest_recipient(
        keys,
        merchant_id,
        channel=stored.channel,
        recipient=content.recipient,
        key_version=content.key_version,
    )
    if recipient != stored.recipient_digest:
        words = "is stored with another recipient than it was handed over for"
        findings.add(_describe(Fault.RECIPIENT_ALTERED, stored, words))
    if (
        digest_content(keys, merchant_id, content.parts, content.key_version)
        != stored.content_digest
    ):
        words = "is stored with another text than it was handed over with"
        findings.add(_describe(Fault.CONTENT_ALTERED, stored, words))


def _describe_twice(told: ToldTwice) -> Finding:
    step = f"claim {told.claim_id}, run {told.run}, step {told.step_id}"
    contacts = f"communication {told.communications}"
    words = f"{step}, place {told.place} ({contacts}) is {told.kind} {told.rows} times"
    return Finding(Fault.CONTACTED_TWICE, words)


def _describe(fault: Fault, contact: _OfContact, words: str) -> Finding:
    return Finding(
        fault, f"communication {contact.communication_id} of claim {contact.claim_id} {words}"
    )
