"""The last check before a contact is sent. Every contact of a workflow passes it.

A contact that is held back gets the earliest time of its next attempt and the reason. A contact
that passes is marked as handed over and counted by the guards of its debtor, in one transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.contact.escalation.contacts.compose_contact import MessageSource
from dunwell.contact.escalation.contacts.render_leased import ContactToRender
from dunwell.contact.escalation.contacts.sending_hours import build_sending_hours, get_day_calendar
from dunwell.contact.escalation.contacts.store import (
    ContactHandOver,
    GuardRowConflict,
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


@dataclass(frozen=True, slots=True)
class FinalCheckResult:
    handed_over: Sequence[RenderedContact]
    # Contacts whose address is on the suppression list.
    suppressed: Sequence[LeasedContact]
    kept_back: Mapping[UUID, ContactHold]


async def check_and_hand_over(
    tx: Connection,
    head: MessageSource,
    lease: Lease,
    rendered: Sequence[tuple[ContactToRender, RenderedContact]],
    now: datetime,
) -> FinalCheckResult:
    """1. Lock claims and contacts. 2. Lock the guards of the debtors. 3. Decide in the order of
    planning time, then claim id. 4. Mark the allowed contacts as handed over and update the guards
    in one statement.

    A contact whose claim changed after rendering is held back so that it is rendered again.
    """
    if not rendered:
        return FinalCheckResult((), (), {})
    by_id = {each.planned.contact.communication_id: (each, one) for each, one in rendered}
    contacts = {key: one.planned.contact for key, (_, one) in by_id.items()}
    identities = {key: _identify(head, contact) for key, contact in contacts.items()}
    locked = await lock_contacts(
        tx,
        head.merchant.merchant_id,
        lease,
        {
            key: (one, _digest_address(head, contacts[key]), identities[key])
            for key, (_, one) in by_id.items()
        },
    )
    kept_back = {key: ContactHold(now) for key in by_id if key not in locked}
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
    messages = {key: one for key, (_, one) in by_id.items()}
    passed, held = await _hand_over(tx, head, lease=lease, wanted=(candidates, messages), now=now)
    for key, hold in held.items():
        kept_back[key] = _keep_back(head, by_id[key][0], hold)
    return FinalCheckResult(passed, suppressed, kept_back)


async def _hand_over(
    tx: Connection,
    head: MessageSource,
    lease: Lease,
    wanted: tuple[Sequence[GuardCandidate], Mapping[UUID, RenderedContact]],
    now: datetime,
) -> tuple[list[RenderedContact], Mapping[UUID, GuardHold]]:
    """Retry when another transaction has just inserted a guard of the same person; the retry finds
    and locks that row."""
    (candidates, messages), merchant = wanted, head.merchant
    identities = {identity for each in candidates for identity in each.identities}
    today = get_day_calendar(merchant.configuration.timezone).local_date(now)
    while True:
        try:
            async with savepoint(tx):
                known = await lock_guards(tx, merchant.merchant_id, identities)
                verdict = decide_contacts(candidates, known, merchant.configuration.guards, today)
                passed = [(messages[c.contact_id], c.identities) for c in verdict.passed]
                passing = ContactHandOver(passed, verdict.raised, now, today)
                await save_hand_over(
                    tx, head.keys, merchant_id=merchant.merchant_id, lease=lease, passing=passing
                )
        except GuardRowConflict:
            continue
        return [one for one, _ in passed], verdict.held


def _digest_address(head: MessageSource, contact: LeasedContact) -> tuple[bytes, ...]:
    address = find_address(contact, contact.channel)
    if address is None:
        return ()
    return digest_address(head.keys, head.merchant.merchant_id, contact.channel, address)


def _identify(head: MessageSource, contact: LeasedContact) -> tuple[bytes, ...]:
    person = DebtorPerson(
        contact.claim_id, contact.email, contact.mobile_number, contact.customer_number
    )
    return list_identities(head.keys, head.merchant.merchant_id, person)


def _keep_back(head: MessageSource, each: ContactToRender, hold: GuardHold) -> ContactHold:
    """Hold the contact until the first moment on the guard's day at which its step may be sent."""
    assert each.step is not None
    configuration = head.merchant.configuration
    workflow = get_prepared_workflow(each.version, configuration)
    hours = build_sending_hours(workflow, each.step, each.planned.contact.channel, configuration)
    return ContactHold(hours.first_moment_on(hold.until), hold.held_by)
