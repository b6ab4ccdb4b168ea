"""Withhold a claim that reached the wrong person, or whose debtor is reported dead.

The claim's page then shows nothing about the claim (`interfaces.landing`). The address that reached
the wrong person is added to the suppression list. A person who has died is not contacted about any
claim of the merchant: the dispute stores the identities that guards use, and every sender checks
them (`contact.messages.suppression`). The suppression and the stop of contacts end when the
merchant rejects the dispute or confirms that this is the right person, or when the debtor withdraws
the dispute. Accepting the dispute changes neither.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.cases.disputes.reasons import PERSON_DIED, WRONG_PERSON
from dunwell.cases.disputes.store import (
    SuppressedAddress,
    lift_wrong_person_suppression,
    lock_suppression,
    save_release,
    save_stopped_person,
    save_suppressed_address,
)
from dunwell.contact.messages.identities import digest_address, list_identities
from dunwell.contact.messages.suppression import check_address, load_person, suppress
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import ValidationError


@dataclass(frozen=True, slots=True)
class ReachedAddress:
    """The address of the message whose link or code opened the page."""

    channel: Channel
    address: str


async def withhold_claim(
    work: Work, keys: KeyRing, dispute: ClaimDispute, reached: ReachedAddress | None
) -> None:
    """Withhold the claim. The dispute must be stored, and its claim locked."""
    if dispute.reason == WRONG_PERSON and reached is not None:
        await _suppress_reached(work, keys, dispute, reached)
    elif dispute.reason == PERSON_DIED:
        person = await load_person(work.tx, work.merchant_id, dispute.claim_id)
        await save_stopped_person(
            work.tx, work.merchant_id, dispute.dispute_id,
            identities=list_identities(keys, work.merchant_id, person), key_version=keys.version,
        )  # fmt: skip


async def release_claim(work: Work, dispute: ClaimDispute) -> ClaimDispute:
    """Show the claim on its page again, and undo the suppression. The claim must be locked. A
    dispute that does not withhold its claim is returned unchanged."""
    if not dispute.withholds_claim:
        return dispute
    address = await save_release(work.tx, work.merchant_id, dispute.dispute_id, work.now)
    lifted = None
    if address is not None and await lock_suppression(work.tx, work.merchant_id, address):
        lifted = await lift_wrong_person_suppression(work.tx, work.merchant_id, address)
    await save_audit(
        work, "dispute.release", f"claim:{dispute.claim_id}",
        before=None if lifted is None else {"address": lifted, "reason": WRONG_PERSON},
        disputeId=str(dispute.dispute_id),
    )  # fmt: skip
    return replace(dispute, released_at=work.now)


async def _suppress_reached(
    work: Work, keys: KeyRing, dispute: ClaimDispute, reached: ReachedAddress
) -> None:
    """Suppress the address. Another transaction may delete the same suppression at this moment, so
    adding it is repeated until its row is locked."""
    try:
        check_address(reached.channel, reached.address)
    except ValidationError:
        # The address is invalid, so no message can be sent to it.
        return
    digests = digest_address(keys, work.merchant_id, reached.channel, reached.address)
    address = SuppressedAddress(reached.channel, digests)
    await save_suppressed_address(
        work.tx, work.merchant_id, dispute.dispute_id, address, key_version=keys.version
    )
    is_locked = False
    while not is_locked:
        await suppress(work, keys, reached.channel, reached.address, reason="WRONG_PERSON")
        is_locked = await lock_suppression(work.tx, work.merchant_id, address)
