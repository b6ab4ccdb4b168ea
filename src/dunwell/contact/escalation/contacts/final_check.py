"""The last check before a contact is sent. Every contact of a workflow passes it.

A contact that is held back gets the reason and the earliest time of the next check. A contact that
passes is marked as handed over and counted by the guards of its debtor, in one transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.contact.escalation.contacts.compose_contact import MessageSource
from dunwell.contact.escalation.contacts.render_leased import ContactToRender
from dunwell.contact.escalation.contacts.sending_hours import build_sending_hours, get_day_calendar
from dunwell.contact.escalation.contacts.store import (
    ContactHandOver,
    GuardRowConflict,
    find_statement_limit,
    lock_contacts,
    save_hand_over,
)
from dunwell.contact.escalation.prepared_workflow import get_prepared_workflow
from dunwell.contact.escalation.usable_channels import find_address
from dunwell.contact.messages.contact import LeasedContact, RenderedContact
from dunwell.contact.messages.guards.guards import (
    ContactHold,
    GuardCandidate,
    GuardHold,
    HoldReason,
    decide_contacts,
)
from dunwell.contact.messages.guards.store import lock_guards
from dunwell.contact.messages.identities import DebtorPerson, digest_address, list_identities
from dunwell.platform.database.database import Connection, savepoint
from dunwell.platform.database.leases import Lease

# How soon a contact of a debtor who is reported dead is checked again. The merchant may decide at
# any time; the contact may wait for weeks.
_RECHECK_AFTER = timedelta(days=1)
# How soon contacts that wait for a bank statement are checked again.
_RECHECK_STATEMENTS_AFTER = timedelta(hours=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FinalCheckResult:
    handed_over: Sequence[RenderedContact]
    # Contacts whose address is on the suppression list.
    suppressed: Sequence[LeasedContact]
    kept_back: Mapping[UUID, ContactHold]


async def check_and_hand_over(
    tx: Connection,
    source: MessageSource,
    lease: Lease,
    rendered: Sequence[tuple[ContactToRender, RenderedContact]],
    now: datetime,
) -> FinalCheckResult:
    """Hand over the contacts that may still be sent.

    1. Lock the claims and contacts. 2. Lock the guards of the debtors. 3. Decide which contacts the
    guards allow, in the order of planning time, then claim id. 4. Mark these as handed over and
    update the guards, in one statement. A contact whose claim changed after rendering is held back
    so that it is rendered again. While the newest bank statement is too old, all contacts are held
    back. `now` is the merchant's time.
    """
    if not rendered:
        return FinalCheckResult((), (), {})
    if await _is_statement_too_old(tx, source, now):
        waiting = ContactHold(now + _RECHECK_STATEMENTS_AFTER)
        keys = [each.planned.contact.communication_id for each, _ in rendered]
        return FinalCheckResult((), (), dict.fromkeys(keys, waiting))
    return await _check_contacts(tx, source, lease, rendered=rendered, now=now)


async def _check_contacts(
    tx: Connection,
    source: MessageSource,
    lease: Lease,
    rendered: Sequence[tuple[ContactToRender, RenderedContact]],
    now: datetime,
) -> FinalCheckResult:
    to_render = {each.planned.contact.communication_id: each for each, _ in rendered}
    messages = {message.planned.contact.communication_id: message for _, message in rendered}
    contacts = {key: message.planned.contact for key, message in messages.items()}
    identities = {key: _digest_identities(source, each) for key, each in contacts.items()}
    locked = await lock_contacts(
        tx,
        source.merchant.merchant_id,
        lease,
        {
            key: (message, _digest_address(source, contacts[key]), identities[key])
            for key, message in messages.items()
        },
    )
    kept_back = {key: ContactHold(now) for key in messages if key not in locked}
    for key in (key for key in locked if locked[key].is_stopped):
        kept_back[key] = ContactHold(now + _RECHECK_AFTER, HoldReason.PERSON_DIED)
    # A debtor who must not be contacted is not contacted by a fallback channel either.
    allowed = [key for key in locked if not locked[key].is_stopped]
    suppressed = [contacts[key] for key in allowed if locked[key].is_suppressed]
    candidates = [
        GuardCandidate(key, identities[key])
        for key in sorted(allowed, key=lambda key: (locked[key].planned_at, contacts[key].claim_id))
        if not locked[key].is_suppressed
    ]
    passed, held = await _hand_over(
        tx, source, lease=lease, to_check=(candidates, messages), now=now
    )
    for key, hold in held.items():
        kept_back[key] = _build_hold(source, to_render[key], hold)
    return FinalCheckResult(passed, suppressed, kept_back)


async def _is_statement_too_old(tx: Connection, source: MessageSource, now: datetime) -> bool:
    """Return whether the newest statement of the account to which debtors transfer is too old."""
    merchant = source.merchant
    account = merchant.configuration.payment.bank_account
    if account is None:
        return False
    limit = await find_statement_limit(tx, merchant.merchant_id, account.iban)
    today = get_day_calendar(merchant.configuration.timezone).local_date(now)
    if limit is None or not limit.is_exceeded(today):
        return False
    log.warning(
        "contacts wait for a bank statement",
        merchant_id=merchant.merchant_id,
        account=limit.account,
        reported_until=limit.reported_until.isoformat(),
    )
    return True


async def _hand_over(
    tx: Connection,
    source: MessageSource,
    lease: Lease,
    to_check: tuple[Sequence[GuardCandidate], Mapping[UUID, RenderedContact]],
    now: datetime,
) -> tuple[list[RenderedContact], Mapping[UUID, GuardHold]]:
    """Return the contacts that were handed over and the holds of the others. Retry when another
    transaction has just inserted a guard of the same person; the retry finds and locks that row."""
    (candidates, messages), merchant = to_check, source.merchant
    identities = {identity for each in candidates for identity in each.identities}
    today = get_day_calendar(merchant.configuration.timezone).local_date(now)
    while True:
        try:
            async with savepoint(tx):
                known = await lock_guards(tx, merchant.merchant_id, identities)
                verdict = decide_contacts(candidates, known, merchant.configuration.guards, today)
                passed = [(messages[c.contact_id], c.identities) for c in verdict.passed]
                hand_over = ContactHandOver(passed, verdict.updated_guards, now, today)
                await save_hand_over(
                    tx,
                    source.keys,
                    merchant_id=merchant.merchant_id,
                    lease=lease,
                    hand_over=hand_over,
                )
        except GuardRowConflict:
            continue
        return [message for message, _ in passed], verdict.held


def _digest_address(source: MessageSource, contact: LeasedContact) -> tuple[bytes, ...]:
    address = find_address(contact, contact.channel)
    if address is None:
        return ()
    return digest_address(source.keys, source.merchant.merchant_id, contact.channel, address)


def _digest_identities(source: MessageSource, contact: LeasedContact) -> tuple[bytes, ...]:
    person = DebtorPerson(
        contact.claim_id, contact.email, contact.mobile_number, contact.customer_number
    )
    return list_identities(source.keys, source.merchant.merchant_id, person)


def _build_hold(source: MessageSource, to_render: ContactToRender, hold: GuardHold) -> ContactHold:
    """Return the hold of a contact until it may be sent: at the first allowed moment on the day
    that the guard names, or later."""
    assert to_render.step is not None
    configuration = source.merchant.configuration
    workflow = get_prepared_workflow(to_render.version, configuration)
    hours = build_sending_hours(
        workflow, to_render.step, to_render.planned.contact.channel, configuration
    )
    return ContactHold(hours.first_moment_on(hold.until), hold.held_by)
