"""Leases planned contacts, renders them without any lock, and marks as handed over those that still
may be sent: not paid, not held, not changed meanwhile, and within contact hours.
"""

from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.escalation.compose_contact import Letterhead, render_contact
from dunwell.escalation.processes import find_process
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Merchant
from dunwell.messages.store import (
    Lease,
    PlannedContact,
    RenderedContact,
    hand_over,
    lease_contacts,
    release,
)
from dunwell.workflows.definition import CommunicationStep
from dunwell.workflows.store import load_newest
from dunwell.workflows.versions import Version

_AFTER_FAULT = timedelta(hours=1)

log = structlog.get_logger(__name__)


async def prepare_contacts(
    resources: Resources, merchant: Merchant, lease: Lease, limit: int
) -> list[RenderedContact]:
    """The contacts that were marked as handed over: those, and no others, are to be sent."""
    now, real_now = merchant.now(resources.clock), resources.clock.now()
    merchant_id = merchant.merchant_id
    async with resources.database.transaction() as tx:
        leased = await lease_contacts(tx, merchant_id, lease, (now, real_now), limit)
        if not leased:
            return []
        keys = {each.contact.process_key for each in leased}
        versions = await load_newest(tx, merchant_id, keys)
    head = Letterhead(merchant, resources.settings.public_url, resources.keys)
    rendered: list[RenderedContact] = []
    # Contacts that are not sent now, and from when on they may be.
    kept_back: dict[UUID, datetime] = {}
    for planned in leased:
        outcome = _render_or_keep_back(head, planned, versions, now)
        if isinstance(outcome, datetime):
            kept_back[planned.contact.communication_id] = outcome
        else:
            rendered.append(outcome)
    async with resources.database.transaction() as tx:
        passed = await hand_over(tx, merchant_id, rendered, lease, now)
        for each in rendered:
            if each.planned.contact.communication_id not in passed:
                kept_back[each.planned.contact.communication_id] = now
        await release(tx, merchant_id, lease, kept_back)
    return [each for each in rendered if each.planned.contact.communication_id in passed]


def _render_or_keep_back(
    head: Letterhead,
    planned: PlannedContact,
    versions: dict[tuple[UUID, int], Version],
    now: datetime,
) -> RenderedContact | datetime:
    """The rendered contact, or the instant before which it must not be sent."""
    contact = planned.contact
    version = versions[contact.process_key]
    process = find_process(version, head.merchant.configuration.timezone)
    try:
        step = process.steps[process.index_of(contact.step_id)]
        assert isinstance(step, CommunicationStep)
        if step.send == "CONTACT_HOURS":
            opening = process.calendar.next_opening(now)
            if opening > now:
                return opening
        return render_contact(head, planned, version, step, process.calendar.local_date(now))
    except Exception as error:
        # One contact that cannot be rendered must not stop the others of its set.
        log.exception(
            "cannot be rendered",
            communication_id=str(contact.communication_id),
            claim_id=contact.claim_id,
            error=type(error).__name__,
        )
        return now + _AFTER_FAULT
