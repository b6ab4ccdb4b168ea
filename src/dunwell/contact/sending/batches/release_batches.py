"""Release batches of letters: write a manifest when enough letters wait or the oldest has waited
long enough.

1. decide   In one transaction, withdraw the letters of claims on which nothing is owed any more,
            and put the others in a batch.
2. write    Write the manifest as a `.part`; the batch is WRITTEN.
3. finish   Save a copy of the manifest, then rename the `.part`. From then on the service
            prints; the batch is RELEASED.

If a worker dies before step 2 is complete, the batch is dissolved: no file has its final name, and
its letters wait for the next batch. If a worker dies later, the batch can only be finished, with
the bytes that were written: the `.part` either still waits to be renamed or has been renamed. A
manifest is therefore written once and no letter is in two of them. After a restore, the copy shows
that a batch was released although its row is older (`unconfirmed_letters.search_released_letters`).

A letter is withdrawn if nothing is owed any more before it is in a manifest. Its files are deleted
and it is reported as FAILED with WITHDRAWN_REASON: the contact is shown as not sent, nothing is
counted as received, and no fallback is tried, because nothing is owed.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.contact.sending.batches.after_restore.unconfirmed_letters import (
    search_released_letters,
)
from dunwell.contact.sending.batches.letter_folder import PART_SUFFIX, RELEASED, PrintProvider
from dunwell.contact.sending.batches.manifest import (
    list_old_manifests,
    name_manifest,
    render_manifest,
)
from dunwell.contact.sending.batches.store import (
    PrintBatch,
    WaitingLetter,
    dissolve_batch,
    give_up_item,
    lease_abandoned_batches,
    list_letters_to_withdraw,
    list_unfinished_letters,
    lock_waiting_letters,
    mark_released,
    mark_written,
    request_withdrawal,
    save_batch,
    save_withdrawn,
)
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import save_reports
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import start_lease
from dunwell.platform.ids import uuid7
from dunwell.platform.resources import Resources

# How often a worker looks for batches that are due.
BATCH_SECONDS = 5.0
# The time limit for writing a manifest, however slow the server is.
_LEASE = timedelta(minutes=3)
_MAX_REMOVED = 500
_COPIES_KEPT_FOR = timedelta(days=30)
# A letter that was begun this long ago is not retried; its fallback channel was used.
_ABANDONED_AFTER = timedelta(days=2)
WITHDRAWN_REASON = "withdrawn before printing: nothing is owed any more"

log = structlog.get_logger(__name__)


class BatchReleaser:
    """Release batches.

    `find_providers` returns the current print providers by name.
    """

    def __init__(
        self, resources: Resources, find_providers: Callable[[], Mapping[str, PrintProvider]]
    ) -> None:
        self._resources = resources
        self._find_providers = find_providers

    async def run_once(self) -> int:
        """Run all print providers. Return how many letters were released, withdrawn, or deleted
        from the folder after their withdrawal. An unavailable provider does not stop the others."""
        done = 0
        for provider in self._find_providers().values():
            try:
                done += await self._run_provider(provider)
            except OSError as error:
                log.warning(
                    "print provider unavailable", provider=provider.name, error=type(error).__name__
                )
        return done

    async def sweep(self) -> int:
        """Delete copies of manifests that are older than any backup. The newest one is kept: it
        shows `search_released_letters` that the copies were not deleted by others."""
        before = uuid7(self._resources.clock.now() - _COPIES_KEPT_FOR, bytes(10))
        removed = 0
        for provider in self._find_providers().values():
            try:
                listed = await provider.letter_folder.list(RELEASED)
                for name in list_old_manifests(listed, before)[:-1]:
                    await provider.letter_folder.remove(f"{RELEASED}/{name}")
                    removed += 1
            except OSError as error:
                log.warning(
                    "print provider unavailable", provider=provider.name, error=type(error).__name__
                )
        return removed

    async def _run_provider(self, provider: PrintProvider) -> int:
        await self._finish_abandoned(provider)
        await search_released_letters(self._resources, provider)
        removed = await self._remove_withdrawn(provider)
        decided, withdrawn = await self._decide(provider)
        if decided is None:
            return removed + withdrawn
        batch, lease, released = decided
        await self._release(provider, batch, lease, released)
        return removed + withdrawn + released

    async def _decide(
        self, provider: PrintProvider
    ) -> tuple[tuple[PrintBatch, Lease, int] | None, int]:
        """Decide on a batch if one is due. Return the batch with its lease and the number of its
        letters, or None, and the number of letters that were withdrawn."""
        resources, real_now = self._resources, self._resources.clock.now()
        async with resources.database.transaction() as tx:
            waiting = await lock_waiting_letters(tx, provider.name, provider.batch.most)
            if not _is_due(provider, waiting, real_now):
                return None, 0
            to_withdraw = [each for each in waiting if each.owes_nothing]
            to_print = [each for each in waiting if not each.owes_nothing]
            if to_withdraw:
                await request_withdrawal(tx, to_withdraw)
                await self._report_withdrawn(tx, provider, to_withdraw, real_now)
            if not to_print:
                return None, len(to_withdraw)
            batch_id = resources.ids.new(real_now)
            letters = [each.letter for each in to_print]
            manifest = render_manifest(batch_id, provider.name, real_now, letters)
            batch = PrintBatch(batch_id, "DECIDED", manifest)
            lease = start_lease(resources, _LEASE)
            await save_batch(
                tx, batch, provider=provider.name, chosen=to_print, lease=lease, at=real_now
            )
            return (batch, lease, len(to_print)), len(to_withdraw)

    async def _report_withdrawn(
        self,
        tx: Connection,
        provider: PrintProvider,
        withdrawn: Sequence[WaitingLetter],
        real_now: datetime,
    ) -> None:
        reports = [
            Report(
                provider=provider.name,
                provider_message_id=f"{each.letter.reference}/taken-back",
                state="FAILED",
                happened_at=real_now,
                reference=Reference(each.merchant_id, each.communication_id),
                reason=WITHDRAWN_REASON,
                cause="OTHER",
                raw=b"",
                destination=each.letter.country,
            )
            for each in withdrawn
        ]
        await save_reports(tx, reports, real_now=real_now, ids=self._resources.ids)

    async def _release(
        self, provider: PrintProvider, batch: PrintBatch, lease: Lease, count: int
    ) -> None:
        name = name_manifest(batch.batch_id)
        try:
            await provider.letter_folder.write_part(name, batch.manifest)
        except OSError:
            # The claims are checked again before the next attempt.
            await self._dissolve(batch.batch_id, lease.lease_id)
            raise
        async with self._resources.database.transaction() as tx:
            if not await mark_written(tx, batch.batch_id, lease.lease_id):
                return
        await self._finish(provider, batch)
        log.info("batch released", provider=provider.name, batch=str(batch.batch_id), count=count)

    async def _finish(self, provider: PrintProvider, batch: PrintBatch) -> None:
        name = name_manifest(batch.batch_id)
        await provider.letter_folder.write(f"{RELEASED}/{name}", batch.manifest)
        try:
            await provider.letter_folder.finish_part(name)
        except FileNotFoundError:
            # The manifest was renamed before, or the service has already taken it. If the folder is
            # unavailable instead, listing it raises OSError and the batch is finished later.
            await provider.letter_folder.list()
            log.info("batch already released", provider=provider.name, batch=str(batch.batch_id))
        async with self._resources.database.transaction() as tx:
            await mark_released(tx, batch.batch_id, self._resources.clock.now())

    async def _finish_abandoned(self, provider: PrintProvider) -> None:
        """Finish the batches of workers that died or lost the connection to the print server."""
        resources, real_now = self._resources, self._resources.clock.now()
        lease = start_lease(resources, _LEASE)
        async with resources.database.transaction() as tx:
            unfinished = await lease_abandoned_batches(tx, provider.name, lease, real_now)
        for batch in unfinished:
            name = name_manifest(batch.batch_id)
            if batch.state == "DECIDED" and await provider.letter_folder.has(f"{RELEASED}/{name}"):
                async with resources.database.transaction() as tx:
                    await mark_written(tx, batch.batch_id, lease.lease_id)
            elif batch.state == "DECIDED":
                await self._dissolve(batch.batch_id, lease.lease_id)
                await provider.letter_folder.remove(name + PART_SUFFIX)
                continue
            await self._finish(provider, batch)

    async def _dissolve(self, batch_id: UUID, lease_id: UUID) -> None:
        async with self._resources.database.transaction() as tx:
            await dissolve_batch(tx, batch_id, lease_id)

    async def _remove_withdrawn(self, provider: PrintProvider) -> int:
        """Delete the files of withdrawn letters and of letters that were never finished. Return the
        number of the withdrawn ones."""
        before = self._resources.clock.now() - _ABANDONED_AFTER
        async with self._resources.database.connection() as connection:
            withdrawn = await list_letters_to_withdraw(connection, provider.name, _MAX_REMOVED)
            unfinished = await list_unfinished_letters(
                connection, provider.name, before, _MAX_REMOVED
            )
        for item in [*withdrawn, *unfinished]:
            for name in item.files:
                await provider.letter_folder.remove(name)
            key = (item.merchant_id, item.communication_id)
            async with self._resources.database.transaction() as tx:
                if item.state == "TAKING_BACK":
                    await save_withdrawn(tx, key)
                else:
                    await give_up_item(tx, key)
        return len(withdrawn)


def _is_due(provider: PrintProvider, waiting: Sequence[WaitingLetter], real_now: datetime) -> bool:
    if not waiting:
        return False
    age = real_now - waiting[0].handed_at
    return len(waiting) >= provider.batch.most or age >= timedelta(
        minutes=provider.batch.every_minutes
    )
