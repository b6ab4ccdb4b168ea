"""The one gate before the channels: every contact of a process passes it, at the moment of sending.

Whoever is held back is told until when and by what; whoever passes is marked as handed over, and
counts for the guards of the person contacted, in one transaction (CONTRACT 13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.contact.escalation.contacts.compose_contact import Letterhead
from dunwell.contact.escalation.contacts.render_leased import Leased
from dunwell.contact.escalation.contacts.sending_hours import find_days, find_sending_hours
from dunwell.contact.escalation.contacts.store import GuardBegun, Passing, hand_over, lock_contacts
from dunwell.contact.escalation.process import find_process
from dunwell.contact.escalation.usable_channels import find_address
from dunwell.contact.messages.contact import LeasedContact, RenderedContact
from dunwell.contact.messages.guards.guards import (
    Candidate,
    GuardHold,
    HeldBy,
    KeptBack,
    decide_contacts,
)
from dunwell.contact.messages.guards.store import lock_guards
from dunwell.contact.messages.identities import DebtorPerson, digest_address, identify
from dunwell.platform.database.database import Connection, savepoint
from dunwell.platform.database.leases import Lease

# How soon a contact that was stopped is looked at again after the merchant has decided: a day is
# soon enough to go on, and seldom enough for contacts that may wait for weeks.
_ASK_AGAIN_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GatePassage:
    handed_over: Sequence[RenderedContact]
    # Their address is not to be contacted any more.
    suppressed: Sequence[LeasedContact]
    kept_back: Mapping[UUID, KeptBack]


async def pass_gate(
    tx: Connection,
    head: Letterhead,
    lease: Lease,
    rendered: Sequence[tuple[Leased, RenderedContact]],
    now: datetime,
) -> GatePassage:
    """1. Lock claims and contacts. 2. Lock the guards of their persons. 3. Decide: the earliest
    planned first, of one moment the oldest claim. 4. Hand over and raise, in one statement.

    A contact whose claim has changed since it was rendered is kept back to be rendered anew.
    """
    if not rendered:
        return GatePassage((), (), {})
    by_id = {each.planned.contact.communication_id: (each, one) for each, one in rendered}
    contacts = {key: one.planned.contact for key, (_, one) in by_id.items()}
    identities = {key: _identify(head, contact) for key, contact in contacts.items()}
    locked = await lock_contacts(
        tx,
        head.merchant.merchant_id,
        lease,
        {
            key: (one, _digest(head, contacts[key]), identities[key])
            for key, (_, one) in by_id.items()
        },
    )
    kept_back = {key: KeptBack(now) for key in by_id if key not in locked}
    for key in (key for key in locked if locked[key].is_stopped):
        kept_back[key] = KeptBack(now + _ASK_AGAIN_AFTER, HeldBy.PERSON_DIED)
    # A person whom nobody may contact is not tried by another channel either.
    allowed = [key for key in locked if not locked[key].is_stopped]
    suppressed = [contacts[key] for key in allowed if locked[key].is_suppressed]
    candidates = [
        Candidate(key, identities[key])
        for key in sorted(allowed, key=lambda key: (locked[key].planned_at, contacts[key].claim_id))
        if not locked[key].is_suppressed
    ]
    messages = {key: one for key, (_, one) in by_id.items()}
    passed, held = await _hand_over(tx, head, lease=lease, wanted=(candidates, messages), now=now)
    for key, hold in held.items():
        kept_back[key] = _keep_back(head, by_id[key][0], hold)
    return GatePassage(passed, suppressed, kept_back)


async def _hand_over(
    tx: Connection,
    head: Letterhead,
    lease: Lease,
    wanted: tuple[Sequence[Candidate], Mapping[UUID, RenderedContact]],
    now: datetime,
) -> tuple[list[RenderedContact], Mapping[UUID, GuardHold]]:
    """Again when somebody began a new person's guard meanwhile: it is known then, and locked."""
    (candidates, messages), merchant = wanted, head.merchant
    identities = {identity for each in candidates for identity in each.identities}
    today = find_days(merchant.configuration.timezone).local_date(now)
    while True:
        try:
            async with savepoint(tx):
                known = await lock_guards(tx, merchant.merchant_id, identities)
                verdict = decide_contacts(candidates, known, merchant.configuration.guards, today)
                passed = [(messages[c.contact_id], c.identities) for c in verdict.passed]
                passing = Passing(passed, verdict.raised, now, today)
                await hand_over(
                    tx, head.keys, merchant_id=merchant.merchant_id, lease=lease, passing=passing
                )
        except GuardBegun:
            continue
        return [one for one, _ in passed], verdict.held


def _digest(head: Letterhead, contact: LeasedContact) -> tuple[bytes, ...]:
    address = find_address(contact, contact.channel)
    if address is None:
        return ()
    return digest_address(head.keys, head.merchant.merchant_id, contact.channel, address)


def _identify(head: Letterhead, contact: LeasedContact) -> tuple[bytes, ...]:
    person = DebtorPerson(
        contact.claim_id, contact.email, contact.mobile_number, contact.customer_number
    )
    return identify(head.keys, head.merchant.merchant_id, person)


def _keep_back(head: Letterhead, each: Leased, hold: GuardHold) -> KeptBack:
    """Until the first moment of the day at which the step may contact anybody."""
    assert each.step is not None
    configuration = head.merchant.configuration
    process = find_process(each.version, configuration)
    hours = find_sending_hours(process, each.step, each.planned.contact.channel, configuration)
    return KeptBack(hours.first_moment_on(hold.until), hold.held_by)
