"""Lease planned contacts, render them while no lock is held, and mark those that may be sent as
handed over.

A contact may be sent if its claim is unpaid, not on hold and unchanged, if the contact hours and
quiet hours allow it, if the required attachments are present, if the address is not suppressed, and
if the guards of the debtor allow it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.contacts.compose_contact import MessageSource, choose_letter_layout
from dunwell.contact.escalation.contacts.final_check import check_and_hand_over
from dunwell.contact.escalation.contacts.handed_over import (
    FileMemory,
    HandedOverContacts,
    LeasedCalls,
)
from dunwell.contact.escalation.contacts.outcomes.settlement import ContactAnswer, ContactTooLate
from dunwell.contact.escalation.contacts.render_leased import (
    ContactToRender,
    RenderingOutcome,
    add_pay_by,
    render_leased,
)
from dunwell.contact.escalation.contacts.store import (
    lease_contacts,
    release_contacts,
    release_until_attachment,
    renew_contacts,
)
from dunwell.contact.messages.contact import LeasedContact, PlannedContact, RenderedContact
from dunwell.contact.messages.guards.guards import ContactHold
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.suppression import SUPPRESSED
from dunwell.contact.sending.channel import Permanent, Uncalled
from dunwell.contact.sending.sender import retry_briefly, retry_until_saved
from dunwell.contact.sending.store import lock_send_rate, save_used_rate
from dunwell.core.files.store import load_attachments
from dunwell.core.workflows.definition import ContactStep
from dunwell.core.workflows.store import load_newest
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import HEARTBEAT_SECONDS, LEASE, keep_lease
from dunwell.platform.resources import Resources

log = structlog.get_logger(__name__)


@asynccontextmanager
async def undo_hand_over_on_failure(
    resources: Resources, letters: LetterFiles, source: MessageSource, lease: Lease,
    contacts: Sequence[LeasedContact],
) -> AsyncIterator[None]:  # fmt: skip
    """Undo the hand-over if the transaction that marks the contacts is interrupted, because it may
    have been committed. No channel is called within the block."""
    handed_over = HandedOverContacts(
        resources, letters, source, leased=LeasedCalls(lease), memory=FileMemory()
    )

    async def undo_hand_over() -> None:
        async with resources.database.transaction() as tx:
            count = await handed_over.record_answers(
                tx, [(contact, Uncalled()) for contact in contacts]
            )
        merchant_id = source.merchant.merchant_id
        log.warning("hand-over interrupted", merchant_id=merchant_id, count=count)

    try:
        yield
    except Unavailable:
        await retry_until_saved(undo_hand_over)
        raise
    except asyncio.CancelledError:
        await retry_briefly(undo_hand_over)
        raise


# How long a contact waits for its required attachment before it fails.
ATTACHMENT_WAIT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PreparedContacts:
    """The contacts whose channels are to be called, and those that already have an outcome."""

    # The lease as it was stored with the hand-over.
    lease: Lease
    handed_over: Sequence[RenderedContact] = ()
    refused: Sequence[tuple[LeasedContact, ContactAnswer]] = ()


@dataclass(frozen=True, slots=True)
class SendRate:
    provider: str
    per_second: float


@dataclass(frozen=True, slots=True)
class SetLimits:
    """The limits of one set: the channel, the number of contacts and the provider's send rate."""

    channel: Channel
    limit: int
    send_rate: SendRate | None = None


async def prepare_contacts(
    resources: Resources, letters: LetterFiles, merchant: Merchant, lease: Lease,
    *, limits: SetLimits, heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> PreparedContacts:  # fmt: skip
    """Prepare one set of due contacts for their channel.

    1. Lease a set with its facts. 2. Render the messages and print letters, renewing the lease in
    the meantime. 3. Mark the contacts that may still be sent as handed over.
    """
    now, real_now = merchant.now(resources.clock), resources.clock.now()
    async with resources.database.transaction() as tx:
        leased = await _lease(
            tx, merchant.merchant_id, lease=lease, times=(now, real_now), limits=limits
        )
        leased = await add_pay_by(tx, resources.keys, merchant=merchant, leased=leased, now=now)
        installation = (await load_installation(tx)).installation if leased else None
    if installation is None:
        return PreparedContacts(lease)
    source = MessageSource(
        merchant,
        resources.settings.public_url,
        keys=resources.keys,
        operator=installation.operator,
        layout=choose_letter_layout(merchant, installation.delivery_providers),
    )
    ids = [each.planned.contact.communication_id for each in leased]

    async def renew_lease(tx: Connection, until: datetime) -> None:
        await renew_contacts(
            tx, merchant.merchant_id, communication_ids=ids, lease_id=lease.lease_id, until=until
        )

    async with keep_lease(resources, renew_lease, heartbeat_seconds=heartbeat_seconds):
        rendered = await render_leased(letters, source, leased, now)
    renewed = Lease(lease.lease_id, resources.clock.now() + LEASE)
    contacts = [each.planned.contact for each in leased]
    async with (
        undo_hand_over_on_failure(resources, letters, source, lease=renewed, contacts=contacts),
        resources.database.transaction() as tx,
    ):
        return await _record(tx, source, lease=renewed, rendering=(leased, rendered), now=now)


async def _lease(
    tx: Connection, merchant_id: int, lease: Lease, times: tuple[datetime, datetime],
    limits: SetLimits,
) -> list[ContactToRender]:  # fmt: skip
    """Lease contacts and load attachments for the steps that use them.

    `times` are the merchant's time and the real time.
    """
    contacts = await _lease_within_rate(tx, merchant_id, lease=lease, times=times, limits=limits)
    if not contacts:
        return []
    keys = {planned.contact.workflow_key for planned in contacts}
    versions = await load_newest(tx, merchant_id, keys)
    leased = [_build_contact_to_render(planned, versions) for planned in contacts]
    with_attachments = {each.planned.contact.claim_id for each in leased if _uses_attachments(each)}
    if not with_attachments:
        return leased
    attachments = await load_attachments(tx, merchant_id, with_attachments)
    return [
        replace(each, attachments=tuple(attachments.get(each.planned.contact.claim_id, ())))
        if _uses_attachments(each)
        else each
        for each in leased
    ]


async def _lease_within_rate(
    tx: Connection, merchant_id: int, lease: Lease, times: tuple[datetime, datetime],
    limits: SetLimits,
) -> list[PlannedContact]:  # fmt: skip
    """Lease no more contacts than the provider's send rate allows across all workers."""
    limit, send_rate = limits.limit, limits.send_rate
    if send_rate is not None:
        room = await lock_send_rate(tx, send_rate.provider, send_rate.per_second, times[1])
        limit = min(limit, room)
    if limit == 0:
        return []
    contacts = await lease_contacts(
        tx, merchant_id, lease, times, limit=limit, channel=limits.channel
    )
    if send_rate is not None and contacts:
        await save_used_rate(tx, send_rate.provider, send_rate.per_second, len(contacts))
    return contacts


def _uses_attachments(to_render: ContactToRender) -> bool:
    return to_render.step is not None and to_render.step.attachments != "NONE"


def _build_contact_to_render(
    planned: PlannedContact, versions: dict[tuple[UUID, int], Version]
) -> ContactToRender:
    version = versions[planned.contact.workflow_key]
    steps = (each for each in version.definition.steps if each.id == planned.contact.step_id)
    step = next(steps, None)
    return ContactToRender(planned, version, step if isinstance(step, ContactStep) else None)


async def _record(
    tx: Connection,
    source: MessageSource,
    lease: Lease,
    rendering: tuple[Sequence[ContactToRender], Sequence[RenderingOutcome]],
    now: datetime,
) -> PreparedContacts:
    """Hand over the contacts that may be sent. Release the others until the time of their next
    check."""
    refused: list[tuple[LeasedContact, ContactAnswer]] = []
    rendered: list[tuple[ContactToRender, RenderedContact]] = []
    kept_back: dict[UUID, ContactHold] = {}
    incomplete: list[PlannedContact] = []
    for each, outcome in zip(*rendering, strict=True):
        contact = each.planned.contact
        if isinstance(outcome, RenderedContact):
            rendered.append((each, outcome))
        elif isinstance(outcome, ContactHold):
            kept_back[contact.communication_id] = outcome
        elif isinstance(outcome, Permanent | ContactTooLate) or contact.has_waited:
            refused.append((contact, outcome))
        else:
            incomplete.append(each.planned)
    check = await check_and_hand_over(tx, source, lease=lease, rendered=rendered, now=now)
    refused += [(contact, Permanent(SUPPRESSED)) for contact in check.suppressed]
    merchant_id = source.merchant.merchant_id
    await release_contacts(tx, merchant_id, lease, kept_back | dict(check.kept_back))
    await release_until_attachment(
        tx, merchant_id, lease=lease, waiting=incomplete, until=now + ATTACHMENT_WAIT
    )
    return PreparedContacts(lease, check.handed_over, refused)
