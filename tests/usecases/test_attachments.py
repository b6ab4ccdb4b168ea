"""Attaching, replacing and deleting files: contacts continue, and files are deleted after their
last use."""

from datetime import datetime, timedelta
from uuid import UUID

from dunwell.contact.escalation.change_attachments import (
    attach_file,
    detach_file,
    replace_attachment,
)
from dunwell.contact.escalation.contacts.store import lease_contacts, release_until_attachment
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.contact import PlannedContact
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.uploads import remove_unused_uploads
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.leases import Lease
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels, upload
from tests.support.files import a_pdf, an_image
from tests.support.harness import Harness

_CONTACTS = "SELECT state, not_before FROM communications WHERE merchant_id = $1"
_TOUCHED = "SELECT xmin::text FROM claims WHERE merchant_id = $1"
_DAY = timedelta(days=1)


async def attach(harness: Harness, claim_id: int, ticket_id: UUID) -> UUID:
    async with harness.work() as work:
        return (await attach_file(work, claim_id, ticket_id)).attachment_id


async def detach(harness: Harness, claim_id: int, attachment_id: UUID) -> None:
    async with harness.work() as work:
        await detach_file(work, claim_id, attachment_id)


async def a_waiting_harness(resources: Resources, clock: MovableClock) -> tuple[Harness, int]:
    """Return a harness whose only contact waits for an attachment."""
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    [claim_id] = await harness.create(**REACHABLE)
    await harness.run()
    return harness, claim_id


async def contacts(harness: Harness) -> list[tuple[str, datetime]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def sweep(harness: Harness, since: datetime) -> int:
    storage = SealedFiles.open(harness.resources)
    return await remove_unused_uploads(harness.resources, storage, since)


async def test_a_contact_that_waits_is_sent_at_once_when_a_file_is_attached(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_waiting_harness(resources, clock)
    clock.advance(_DAY)

    await attach(harness, claim_id, await upload(harness, "Rechnung", a_pdf()))

    assert await contacts(harness) == [("PLANNED", clock.now())]
    await harness.run()
    [message] = harness.channels[0].sent
    assert [file.name for file in message.attachments] == ["Rechnung.pdf"]


async def test_every_change_of_attachments_renders_the_message_again(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_waiting_harness(resources, clock)
    seen = {(await harness.rows(_TOUCHED))[0][0]}

    attachment_id = await attach(harness, claim_id, await upload(harness, "A", a_pdf()))
    seen.add((await harness.rows(_TOUCHED))[0][0])
    other = await upload(harness, "B", an_image("PNG"))
    async with harness.work() as work:
        await replace_attachment(work, claim_id, attachment_id, other)
    seen.add((await harness.rows(_TOUCHED))[0][0])
    await detach(harness, claim_id, attachment_id)
    seen.add((await harness.rows(_TOUCHED))[0][0])

    assert len(seen) == 4


async def lease_one(harness: Harness) -> tuple[Lease, PlannedContact]:
    """Plan the claim's contact, and lease it as a dispatcher does."""
    engine = Engine(harness.resources)
    while await engine.run_once():
        pass
    now = harness.clock.now()
    lease = Lease(harness.resources.ids.new(now), now + timedelta(minutes=2))
    async with harness.work() as work:
        [leased] = await lease_contacts(
            work.tx, work.merchant_id, lease, (now, now), limit=10, channel="EMAIL"
        )
    return lease, leased


async def hold_for_attachment(harness: Harness, lease: Lease, leased: PlannedContact) -> None:
    """Hold the contact as a dispatcher does that has seen no attachment."""
    async with harness.work() as work:
        until = harness.clock.now() + 7 * _DAY
        await release_until_attachment(work.tx, work.merchant_id, lease, [leased], until)


async def test_a_contact_does_not_wait_for_a_file_attached_since_its_check(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    [claim_id] = await harness.create(**REACHABLE)
    ticket_id = await upload(harness, "Rechnung", a_pdf())
    lease, leased = await lease_one(harness)

    await attach(harness, claim_id, ticket_id)
    await hold_for_attachment(harness, lease, leased)

    assert await contacts(harness) == [("PLANNED", clock.now())]
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_a_contact_does_not_wait_for_a_file_that_is_being_attached(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    [claim_id] = await harness.create(**REACHABLE)
    ticket_id = await upload(harness, "Rechnung", a_pdf())
    lease, leased = await lease_one(harness)

    async with harness.work() as work:
        await attach_file(work, claim_id, ticket_id)
        await hold_for_attachment(harness, lease, leased)

    assert await contacts(harness) == [("PLANNED", clock.now())]


async def test_a_claim_without_a_change_waits(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    await harness.create(**REACHABLE)

    await hold_for_attachment(harness, *await lease_one(harness))

    assert await contacts(harness) == [("ATTACHMENT_MISSING", clock.now() + 7 * _DAY)]


async def test_a_file_is_removed_after_its_last_use(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    one, two = await harness.create("A-1", "A-2")
    ticket_id = await upload(harness, "Rechnung", a_pdf())
    first, second = await attach(harness, one, ticket_id), await attach(harness, two, ticket_id)
    clock.advance(timedelta(days=90))
    since = clock.now()

    await detach(harness, one, first)
    clock.advance(_DAY)
    assert await sweep(harness, since) == 0
    since = clock.now()
    await detach(harness, two, second)
    clock.advance(_DAY)

    assert await sweep(harness, since) == 1
    assert await harness.rows("SELECT 1 FROM uploads WHERE merchant_id = $1") == []


async def test_a_recent_upload_is_kept_after_its_last_use(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    [claim_id] = await harness.create()
    ticket_id = await upload(harness, "Rechnung", a_pdf())
    since = clock.now()

    await detach(harness, claim_id, await attach(harness, claim_id, ticket_id))
    clock.advance(_DAY)

    assert await sweep(harness, since) == 0
    assert await attach(harness, claim_id, ticket_id)
