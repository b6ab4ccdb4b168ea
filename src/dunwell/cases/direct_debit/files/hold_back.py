"""Hold back a single debit: it is not collected, and the debtor has to pay the instalment."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import CancelReason, Collection, CollectionState
from dunwell.cases.direct_debit.files.store import (
    delete_proposed_file,
    list_file_collections,
    lock_file,
)
from dunwell.cases.direct_debit.plan_collections import cancel_collection
from dunwell.cases.direct_debit.store import load_collections
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.platform.errors import InvalidState, NotFound


async def hold_back_debit(work: Work, collection_id: UUID) -> None:
    """Cancel a collection that is not released, and take it out of the proposed file that has it. A
    file without collections is deleted. Repeating the call changes nothing. Raises NotFound, and
    InvalidState if the collection is released or was cancelled for another reason."""
    work.require(Right.RECORD_MONEY)
    await lock_claim_of_merchant(work, (await _load(work, collection_id)).claim_id)
    collection = await _load(work, collection_id)
    if collection.cancel_reason is CancelReason.HELD_BACK:
        return
    if collection.state not in (CollectionState.PLANNED, CollectionState.PRENOTIFIED):
        raise InvalidState("This debit can no longer be held back.", state=str(collection.state))
    file_id = collection.file_id
    if file_id is not None:
        # Two users may hold back the last two debits at once. With the lock, the later one sees
        # that the file is empty, and deletes it.
        await lock_file(work.tx, work.merchant_id, file_id)
    await cancel_collection(work, collection, CancelReason.HELD_BACK)
    if file_id is None or await list_file_collections(work.tx, work.merchant_id, file_id):
        return
    await delete_proposed_file(work.tx, work.merchant_id, file_id)
    await save_audit(
        work, "debitFile.dissolve", f"debitFile:{file_id}",
        before={"state": "PROPOSED"}, after=None, fileId=str(file_id),
    )  # fmt: skip


async def _load(work: Work, collection_id: UUID) -> Collection:
    """Return the collection. Raises NotFound."""
    collections = await load_collections(work.tx, work.merchant_id, [collection_id])
    if not collections:
        raise NotFound(f"There is no debit {collection_id}.")
    return collections[0]
