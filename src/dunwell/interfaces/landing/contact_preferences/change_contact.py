"""Change how a debtor is contacted: the channels, and an address once the code sent to it has been
entered."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.messages.identities import mask_address
from dunwell.contact.messages.suppression import (
    KnownSuppressions,
    lift_suppression,
    load_suppression_reasons,
    suppress,
)
from dunwell.contact.notices.notice import (
    DebtorNotice,
    NoticeChannel,
    NoticeLimitReached,
    RecipientUnreachable,
)
from dunwell.contact.notices.notice_codes import is_notice_code
from dunwell.contact.notices.occasions.facts import ContactChangeFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.contact.notices.send_notice import find_repeated_notice, send_notice
from dunwell.contact.sending.report import Reference
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.contact_preferences.store import (
    PendingChange,
    delete_change,
    find_email_recipient,
    load_change,
    save_change,
    save_failure,
)
from dunwell.interfaces.landing.contact_preferences.views import (
    ContactWay,
    ContactWayChanges,
    compute_way_changes,
)
from dunwell.interfaces.landing.session.facts import OnFile
from dunwell.interfaces.landing.session.lifecycle import digest_addresses, list_addresses
from dunwell.interfaces.landing.session.store import load_on_file
from dunwell.interfaces.landing.sign_in.attempt_limits import MAX_FAILURES, Locked, WrongAttempt
from dunwell.interfaces.landing.sign_in.entered_codes import lock_attempts_of_claim, record_failure
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import NotFound


async def change_channels(
    work: Work, keys: KeyRing, claim_id: int, wanted: Collection[str]
) -> ContactWayChanges | None:
    """Suppress and unsuppress the debtor's channels. Return None and change nothing if no channel
    would be left. Raises NotFound if the claim does not exist.

    The lock on the claim keeps two concurrent requests from leaving no channel together.
    """
    work.require(Right.CONTACT_SETTINGS)
    if await lock_claim(work.tx, work.merchant_id, claim_id) is None:
        raise NotFound(f"There is no claim {claim_id}.")
    on_file = await load_on_file(work.tx, work.merchant_id, claim_id)
    changes = compute_way_changes(await list_contact_ways(work, keys, on_file), wanted)
    if changes is None:
        return None
    for way in changes.suppressed:
        await suppress(work, keys, way.channel, address=way.address, reason="DEBTOR")
    for way in changes.lifted:
        await lift_suppression(work, keys, way.channel, way.address)
    return changes


async def unsubscribe(work: Work, keys: KeyRing, reference: Reference) -> bool:
    """Stop e-mails to the address that a message was sent to. Return False if the message no longer
    exists.

    This is the one-click unsubscribe of a mail program (RFC 8058). It needs no session: anyone who
    has the message can request it, and repeating it changes nothing. Unlike the preferences page it
    may suppress the last channel, because a mail program can neither ask which channel to keep nor
    show an answer.
    """
    work.require(Right.CONTACT_SETTINGS)
    address = await find_email_recipient(work.tx, work.merchant_id, reference.communication_id)
    if address is None:
        return False
    await suppress(work, keys, "EMAIL", address=address, reason="DEBTOR")
    return True


async def list_contact_ways(work: Work, keys: KeyRing, on_file: OnFile) -> list[ContactWay]:
    """List the addresses of the merchant's channels with their suppressions, read from the
    database."""
    work.require(Right.READ_CLAIMS)
    addresses = list_addresses(on_file, work.merchant.configuration.channels)
    reasons = await load_suppression_reasons(
        work.tx, keys, work.merchant_id, list(addresses.items())
    )
    return [
        ContactWay(channel, address, reasons.get((channel, address)))
        for channel, address in addresses.items()
    ]


def build_contact_ways(
    keys: KeyRing, merchant: Merchant, on_file: OnFile, suppressions: KnownSuppressions | None
) -> list[ContactWay] | None:
    """Build the same list as `list_contact_ways` without the database. `suppressions` are those of
    the addresses that were on file when the session was opened. Return None if an address has
    changed since then."""
    addresses = list_addresses(on_file, merchant.configuration.channels)
    digests = digest_addresses(keys, merchant.merchant_id, addresses)
    if suppressions is None or not all(map(suppressions.covers, digests.values())):
        return None
    return [
        ContactWay(channel, address, suppressions.find_reason(digests[channel]))
        for channel, address in addresses.items()
    ]


CHANGE_CODE_LIFETIME = timedelta(minutes=10)
_FIELD_BY_CHANNEL: dict[NoticeChannel, str] = {"EMAIL": "email", "SMS": "mobileNumber"}


@dataclass(frozen=True, slots=True)
class TypedChangeCode:
    """The code that was entered for a pending change of a claim."""

    claim_id: int
    text: str


async def request_change(
    work: Work, keys: KeyRing, notice: DebtorNotice
) -> UUID | NoticeLimitReached | RecipientUnreachable:
    """Send a code to the new address and save the pending change. `notice` is of the kind
    CHANGE_CODE.

    A previous pending change is replaced. A form that is sent twice sends one code, unless a wrong
    code was entered in between. Raises NotFound if the claim does not exist.
    """
    work.require(Right.CHANGE_CLAIMS)
    repeated = await find_repeated_notice(work, notice)
    if repeated is not None and await _is_untried(work, notice, repeated):
        return repeated
    sent = await send_notice(work, keys, notice)
    if isinstance(sent, UUID):
        addressee = notice.addressee
        change = PendingChange(
            addressee.channel, addressee.recipient, sent, work.real_now + CHANGE_CODE_LIFETIME
        )
        await save_change(work.tx, work.merchant_id, addressee.claim_id, change)
    return sent


async def _is_untried(work: Work, notice: DebtorNotice, notice_id: UUID) -> bool:
    change = await load_change(work.tx, work.merchant_id, notice.addressee.claim_id)
    return change is not None and change.notice_id == notice_id and change.failures == 0


async def confirm_change(
    work: Work, keys: KeyRing, typed: TypedChangeCode, write_notice: Callable[[PendingChange, str],
    DebtorNotice],
) -> PendingChange | WrongAttempt | Locked:  # fmt: skip
    """Change the address if the code is correct. `write_notice` writes the notice of the change to
    the old address, which is its second argument.

    The result is the same for a code that is wrong, expired, entered too often or was never sent.
    The caller commits in every case, because wrong attempts are counted. Raises NotFound if the
    claim does not exist.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim = work.merchant_id, typed.claim_id
    if await lock_claim(work.tx, *claim) is None:
        raise NotFound(f"There is no claim {typed.claim_id}.")
    attempts = await lock_attempts_of_claim(work.tx, claim, work.real_now)
    if isinstance(attempts, Locked):
        return attempts
    change = await load_change(work.tx, work.merchant_id, typed.claim_id)
    is_live = (
        change is not None and change.failures < MAX_FAILURES and work.real_now < change.expires_at
    )
    if (
        change is None
        or not is_live
        or not is_notice_code(keys, change.notice_id, typed.text, change.key_version)
    ):
        await save_failure(work.tx, work.merchant_id, typed.claim_id)
        return await record_failure(work.tx, claim, attempts, work.real_now)
    on_file = await load_on_file(work.tx, work.merchant_id, typed.claim_id)
    old = on_file.email if change.channel == "EMAIL" else on_file.mobile_number
    await change_contact_data(
        work, typed.claim_id, {_FIELD_BY_CHANNEL[change.channel]: change.address}
    )
    await delete_change(work.tx, work.merchant_id, typed.claim_id)
    if old:
        await send_notice(work, keys, write_notice(change, old))
    masked = mask_address(change.channel, change.address)
    change_facts = ContactChangeFacts(change.channel, work.now, masked)
    await notify_debtor(work, typed.claim_id, str(change.notice_id), change_facts)
    return change
