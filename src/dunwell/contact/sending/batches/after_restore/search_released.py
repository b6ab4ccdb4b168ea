"""After a restore: looks for letters that wait among what was released in the time that was lost.

Of each manifest a copy is written beside the letters before it is released (`depot.RELEASED`), and
stays there when the print service takes the manifest away. A letter whose message is older than the
end of the loss is put into no batch before those copies were looked at:

    one names it                               it was released; its batch is taken over
    the print service has spoken of it         it was released
    none names it, all are there, its files    it goes on
    none names it, copies may be missing       a person is asked: UNTOLD
    none names it, its files are not there     a person is asked: GONE

All copies are there if that of the last batch is that the database knew when it was backed up: who
clears a folder begins with the oldest.
"""

from collections.abc import Mapping
from uuid import UUID

import structlog

from dunwell.contact.sending.batches.after_restore.store import (
    Loss,
    ask,
    clear,
    find_asked,
    find_doubted,
    find_known,
    find_newest,
    load_loss,
    save_found,
    save_found_letters,
)
from dunwell.contact.sending.batches.depot import RELEASED, LetterLine
from dunwell.contact.sending.batches.manifest import (
    ManifestBroken,
    read_manifest,
    read_manifest_name,
)
from dunwell.contact.sending.references import read_reference
from dunwell.platform.resources import Resources

_AT_ONCE = 1_000

log = structlog.get_logger(__name__)


async def search_released(resources: Resources, line: LetterLine) -> None:
    """Raises OSError while the folder is away: then nothing in doubt goes on."""
    async with resources.database.connection() as connection:
        loss = await load_loss(connection)
        if loss is None:
            return
        doubted = await find_doubted(connection, line.name, loss, _AT_ONCE)
        asked = await find_asked(connection, line.name, _AT_ONCE)
    if doubted:
        there = await line.depot.list()
        tells_all = await _take_over(resources, line, loss)
        here = [each.key for each in doubted if there.keys() >= set(each.files)]
        gone = [each.key for each in doubted if not there.keys() >= set(each.files)]
    keys = [*asked, *(each.key for each in doubted)]
    if not keys:
        return
    async with resources.database.transaction() as tx:
        await save_found_letters(tx, keys)
        if not doubted:
            return
        await ask(tx, gone, "GONE")
        if tells_all:
            await clear(tx, here, resources.clock.now())
        else:
            await ask(tx, here, "UNTOLD")
            log.error("letters may have been released before the restore", line=line.name)


async def _take_over(resources: Resources, line: LetterLine, loss: Loss) -> bool:
    """The batches that this database does not know; whether those are all there were."""
    listed = await line.depot.list(RELEASED)
    copies: Mapping[UUID, str] = {
        batch_id: name for name in listed if (batch_id := read_manifest_name(name)) is not None
    }
    async with resources.database.connection() as connection:
        unknown = copies.keys() - await find_known(connection, copies.keys())
        newest = await find_newest(connection, line.name, loss.resumed_at)
    tells_all = newest in copies
    for batch_id in sorted(unknown):
        tells_all &= await _take_over_batch(resources, line, batch_id, copies[batch_id])
    return tells_all


async def _take_over_batch(
    resources: Resources, line: LetterLine, batch_id: UUID, name: str
) -> bool:
    content = await line.depot.read(f"{RELEASED}/{name}")
    try:
        manifest = read_manifest(content, batch_id, line.name)
    except ManifestBroken:
        log.error("copy of a manifest broken", line=line.name, batch=str(batch_id))  # noqa: TRY400 - it says all there is
        return False
    named = [read_reference(resources.keys, each.reference) for each in manifest.letters]
    letters = [(each.merchant_id, each.communication_id) for each in named if each is not None]
    async with resources.database.transaction() as tx:
        await save_found(
            tx, manifest, content=content, letters=letters, real_now=resources.clock.now()
        )
    log.info("batch of the lost time taken over", line=line.name, batch=str(batch_id))
    return len(letters) == len(named)
