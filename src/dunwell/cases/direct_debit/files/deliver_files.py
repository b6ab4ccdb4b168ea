"""Deliver released files to the bank, each once.

The worker first writes the whole file under a temporary name, records that, and then renames it. If
the worker dies in between, another one repeats the rename: if the temporary file is gone, the file
has been renamed, and the bank may have taken it already.
"""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.direct_debit.files.release_debits import (
    FILE_SEAL_PURPOSE,
    build_file_context,
    drop_ended_debits,
)
from dunwell.cases.direct_debit.files.store import (
    DebitFile,
    find_file,
    lease_file,
    list_merchants_with_files,
    load_content,
    save_delivered,
    save_handed_over,
    save_problem,
)
from dunwell.contact.sending.batches.letter_folder import ExchangeFolder
from dunwell.platform.resources import Resources

# How often the worker looks for files to deliver.
DELIVER_SECONDS = 2.0
# A file whose delivery failed is tried again after this time. It is longer than an attempt can
# take, so that no two workers deliver the same file.
_REPEAT_AFTER = timedelta(minutes=5)
_MERCHANTS_PER_TURN = 50

# Returns the folder of a bank connection by its name, or None if there is none that can be used.
FindBankFolder = Callable[[str], ExchangeFolder | None]

log = structlog.get_logger(__name__)


async def deliver_debit_files(resources: Resources, find_folder: FindBankFolder) -> int:
    """Deliver one due file of each merchant. Return how many deliveries were attempted."""
    now = resources.clock.now()
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_with_files(connection, now, _MERCHANTS_PER_TURN)
    attempts = 0
    for merchant_id in merchant_ids:
        async with resources.database.transaction() as tx:
            file = await lease_file(tx, merchant_id, now, _REPEAT_AFTER)
        if file is not None:
            await _deliver_one(resources, find_folder, merchant_id, file)
            attempts += 1
    return attempts


async def _deliver_one(
    resources: Resources, find_folder: FindBankFolder, merchant_id: int, file: DebitFile
) -> None:
    """Deliver a file. A failure is recorded, and the file is tried again later."""
    folder = find_folder(file.deliver_to or "")
    if folder is None:
        problem = "The installation file has no bank connection that can be used."
        await _record_problem(resources, merchant_id, file, problem)
        return
    try:
        await _write(resources, folder, merchant_id, file)
    except OSError as error:
        await _record_problem(resources, merchant_id, file, f"{type(error).__name__}: {error}")
        return
    await _record_delivery(resources, merchant_id, file)


async def _write(
    resources: Resources, folder: ExchangeFolder, merchant_id: int, file: DebitFile
) -> None:
    """Take the debits of ended mandates out of the file, write it, and give it its final name,
    unless a user downloads it first and so passes it on to the bank. Raises OSError."""
    if file.handed_over_at is None:
        async with resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            assert merchant is not None, "the file belongs to the merchant"
            work = Work.open(resources, tx, merchant, SYSTEM)
            if not (await drop_ended_debits(work, resources.keys, file.file_id)).debits:
                return
            sealed = await load_content(tx, merchant_id, file.file_id)
        assert sealed is not None, "a released file has content"
        context = build_file_context(merchant_id, file.file_id)
        content = resources.keys.open(FILE_SEAL_PURPOSE, sealed, context)
        await folder.write_part(file.file_name, content)
        async with resources.database.transaction() as tx:
            is_handed_over = await save_handed_over(
                tx, merchant_id, file.file_id, resources.clock.now()
            )
        if not is_handed_over:
            await folder.remove(f"{file.file_name}.part")
            return
    try:
        await folder.finish_part(file.file_name)
    except FileNotFoundError:
        if file.handed_over_at is None:
            raise
        log.info("debit file was delivered before", file=file.file_name, merchant_id=merchant_id)


async def _record_delivery(resources: Resources, merchant_id: int, file: DebitFile) -> None:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        await _save_delivery(Work.open(resources, tx, merchant, SYSTEM), file)


async def record_answered_file(work: Work, file_id: UUID) -> None:
    """Record that a file which was handed over is delivered, because the bank has answered to it.
    The worker that delivered the file may have died, or may be slower than the bank."""
    work.require(Right.RECORD_MONEY)
    file = await find_file(work.tx, work.merchant_id, file_id)
    if file is not None and file.handed_over_at is not None:
        await _save_delivery(work, file)


async def _save_delivery(work: Work, file: DebitFile) -> None:
    if await save_delivered(
        work.tx, work.merchant_id, file.file_id, file.deliver_to,
        now=work.now, real_now=work.real_now,
    ):  # fmt: skip
        await save_audit(
            work, "debitFile.deliver", f"debitFile:{file.file_id}",
            before={"state": file.state}, after={"state": "DELIVERED"},
            fileId=str(file.file_id), bank=file.deliver_to,
        )  # fmt: skip


async def _record_problem(
    resources: Resources, merchant_id: int, file: DebitFile, problem: str
) -> None:
    log.warning(
        "debit file not delivered", file=file.file_name, merchant_id=merchant_id, reason=problem
    )
    async with resources.database.transaction() as tx:
        await save_problem(tx, merchant_id, file.file_id, problem)
