"""After a restore, find out which letters were released in the time that was lost: from manifests,
or by an operator's decision."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from dunwell.accounts.installation.audit_log import InstallationAct, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.batches.after_restore.store import (
    Key,
    Loss,
    ask,
    clear,
    clear_asked,
    find_asked,
    find_doubted,
    find_known,
    get_newest_revision,
    load_loss,
    mark_gone,
    mark_released_before,
    save_found,
    save_found_letters,
)
from dunwell.contact.sending.batches.letter_folder import RELEASED, LetterLine
from dunwell.contact.sending.batches.manifest import (
    ManifestBroken,
    read_manifest,
    read_manifest_name,
)
from dunwell.contact.sending.references import read_reference
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import save_reports
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_AT_ONCE = 1_000

log = structlog.get_logger(__name__)


async def search_released(resources: Resources, line: LetterLine) -> None:
    """Search the manifests for letters that may have been released. Raises OSError while the folder
    is unavailable; the letters then keep waiting."""
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
    """Save the batches that the database does not know. Return whether all manifests of the lost
    time were found."""
    listed = await line.depot.list(RELEASED)
    copies: Mapping[UUID, str] = {
        batch_id: name for name in listed if (batch_id := read_manifest_name(name)) is not None
    }
    async with resources.database.connection() as connection:
        unknown = copies.keys() - await find_known(connection, copies.keys())
        newest = await get_newest_revision(connection, line.name, loss.resumed_at)
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


GONE = "its files were gone after a restore, and it was not printed"


async def resolve_doubted_letters(
    tx: Connection, actor: Actor, resources: Resources, *,
    line: str, keys: Sequence[Key], was_released: bool,
) -> int:  # fmt: skip
    """Record an operator's decision and return the number of letters. Letters that were resolved in
    the meantime stay unchanged."""
    check_right(actor, Right.OPERATE)
    real_now = resources.clock.now()
    if was_released:
        settled = await mark_released_before(tx, line, keys)
    else:
        gone = await mark_gone(tx, line, keys)
        reports = [
            Report(
                line=line,
                provider_id=f"{reference}/gone",
                state="FAILED",
                happened_at=real_now,
                reference=Reference(merchant_id, communication_id),
                reason=GONE,
                cause="OTHER",
                raw=b"",
            )
            for merchant_id, communication_id, reference in gone
        ]
        await save_reports(tx, reports, real_now=real_now, ids=resources.ids)
        settled = len(gone) + await clear_asked(tx, line, keys, real_now)
    if settled:
        act = InstallationAct(
            actor_kind=actor.kind,
            actor_id=actor.actor_id,
            action="letters.settle",
            subject=f"line:{line}",
            after={"released": was_released, "letters": settled},
            origin=None if actor.origin is None else actor.origin.as_json(),
        )
        await save_installation_audit(tx, act, real_now, resources.ids)
    return settled
