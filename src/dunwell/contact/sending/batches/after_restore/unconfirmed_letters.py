"""After a restore, find out which letters were released in the time that was lost: from manifests,
or by an operator's decision."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.batches.after_restore.store import (
    LetterKey,
    LostTime,
    clear_decided_letters,
    clear_letters,
    find_lost_time,
    find_newest_batch,
    list_known_batches,
    list_letters_to_decide,
    list_uncertain_letters,
    mark_decided_as_released,
    mark_files_missing,
    request_decision,
    save_found_batch,
    save_found_letters,
)
from dunwell.contact.sending.batches.letter_folder import RELEASED, PrintProvider
from dunwell.contact.sending.batches.manifest import (
    ManifestBroken,
    parse_manifest,
    parse_manifest_name,
)
from dunwell.contact.sending.references import parse_reference
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import save_reports
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_SET_SIZE = 1_000

log = structlog.get_logger(__name__)


async def search_released_letters(resources: Resources, provider: PrintProvider) -> None:
    """Search the manifests for letters that may have been released. Raises OSError while the folder
    is unavailable; the letters then keep waiting."""
    async with resources.database.connection() as connection:
        loss = await find_lost_time(connection)
        if loss is None:
            return
        uncertain = await list_uncertain_letters(connection, provider.name, loss, _SET_SIZE)
        undecided = await list_letters_to_decide(connection, provider.name, _SET_SIZE)
    if uncertain:
        file_names = await provider.letter_folder.list()
        is_complete = await _save_unknown_batches(resources, provider, loss)
        present = [each.key for each in uncertain if file_names.keys() >= set(each.files)]
        missing = [each.key for each in uncertain if not file_names.keys() >= set(each.files)]
    keys = [*undecided, *(each.key for each in uncertain)]
    if not keys:
        return
    async with resources.database.transaction() as tx:
        await save_found_letters(tx, keys)
        if not uncertain:
            return
        await request_decision(tx, missing, "MISSING")
        if is_complete:
            await clear_letters(tx, present, resources.clock.now())
        else:
            await request_decision(tx, present, "UNCONFIRMED")
            log.error("letters may have been released before the restore", provider=provider.name)


async def _save_unknown_batches(
    resources: Resources, provider: PrintProvider, loss: LostTime
) -> bool:
    """Save the batches that the database does not know. Return whether all manifests of the lost
    time were found."""
    listed = await provider.letter_folder.list(RELEASED)
    copies: Mapping[UUID, str] = {
        batch_id: name for name in listed if (batch_id := parse_manifest_name(name)) is not None
    }
    async with resources.database.connection() as connection:
        unknown = copies.keys() - await list_known_batches(connection, copies.keys())
        newest = await find_newest_batch(connection, provider.name, loss.resumed_at)
    is_complete = newest in copies
    for batch_id in sorted(unknown):
        is_complete &= await _save_unknown_batch(resources, provider, batch_id, copies[batch_id])
    return is_complete


async def _save_unknown_batch(
    resources: Resources, provider: PrintProvider, batch_id: UUID, name: str
) -> bool:
    content = await provider.letter_folder.read(f"{RELEASED}/{name}")
    try:
        manifest = parse_manifest(content, batch_id, provider.name)
    except ManifestBroken:
        log.error("copy of manifest damaged", provider=provider.name, batch=str(batch_id))  # noqa: TRY400 - the message is complete
        return False
    references = [parse_reference(resources.keys, each.reference) for each in manifest.letters]
    letters = [(each.merchant_id, each.communication_id) for each in references if each is not None]
    async with resources.database.transaction() as tx:
        await save_found_batch(
            tx, manifest, content=content, letters=letters, real_now=resources.clock.now()
        )
    log.info("batch found after restore", provider=provider.name, batch=str(batch_id))
    return len(letters) == len(references)


FILES_MISSING_REASON = "not printed: its files were missing after a restore"


async def resolve_uncertain_letters(
    tx: Connection, actor: Actor, resources: Resources, *,
    provider: str, keys: Sequence[LetterKey], was_released: bool,
) -> int:  # fmt: skip
    """Record an operator's decision whether letters were released to the print service before the
    restore (`was_released`), and return the number of letters. If they were not released, letters
    whose files are missing are reported as failed, and the others are part of the next batch.
    Letters that were resolved in the meantime stay unchanged."""
    check_right(actor, Right.OPERATE)
    real_now = resources.clock.now()
    if was_released:
        settled = await mark_decided_as_released(tx, provider, keys)
    else:
        missing = await mark_files_missing(tx, provider, keys)
        reports = [
            Report(
                provider=provider,
                provider_message_id=f"{reference}/gone",
                state="FAILED",
                happened_at=real_now,
                reference=Reference(merchant_id, communication_id),
                reason=FILES_MISSING_REASON,
                cause="OTHER",
                raw=b"",
            )
            for merchant_id, communication_id, reference in missing
        ]
        await save_reports(tx, reports, real_now=real_now, ids=resources.ids)
        settled = len(missing) + await clear_decided_letters(tx, provider, keys, real_now)
    if settled:
        action = InstallationAction(
            actor_kind=actor.kind,
            actor_id=actor.actor_id,
            action="letters.settle",
            subject=f"provider:{provider}",
            after={"released": was_released, "letters": settled},
            origin=None if actor.origin is None else actor.origin.as_json(),
        )
        await save_installation_audit(tx, action, real_now, resources.ids)
    return settled
