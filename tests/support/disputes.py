"""Functions that open and resolve disputes of a merchant's claims."""

from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, debtor_actor
from dunwell.cases.disputes.answer_dispute import (
    DisputeResolution,
    ResolutionOutcome,
    add_evidence,
    resolve_dispute,
    withdraw_dispute,
)
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, NewDispute
from dunwell.cases.disputes.list_disputes import list_claim_disputes
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.store import list_evidence_files
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.store import save_upload
from dunwell.core.files.upload import NewUpload
from tests.support.children import INSPECTOR
from tests.support.files import a_pdf
from tests.support.house import ERP, House
from tests.support.telling import tell
from tests.support.uploads import prepare_upload

DEBTOR = debtor_actor("session-1")
ACCEPTED: ResolutionOutcome = DisputeState.ACCEPTED
REJECTED: ResolutionOutcome = DisputeState.REJECTED


async def dispute(
    house: House, claim_id: int, dispute_type: str = "AMOUNT_WRONG", message: str | None = None,
    actor: Actor = DEBTOR,
) -> ClaimDispute:  # fmt: skip
    async with house.work(actor) as work:
        new = NewDispute(dispute_type, message)
        return await open_dispute(work, house.resources.keys, claim_id, new)


async def resolve(
    house: House, opened: ClaimDispute, outcome: ResolutionOutcome, **given: Any
) -> ClaimDispute:
    """Resolve the dispute. `given` holds end_claim and message."""
    async with house.work(ERP) as work:
        resolution = DisputeResolution(outcome, **given)
        return await resolve_dispute(work, opened.claim_id, opened.dispute_id, resolution)


async def answer(
    house: House, opened: ClaimDispute, outcome: ResolutionOutcome, **given: Any
) -> ClaimDispute:
    """Resolve the dispute and inform the debtor."""
    resolved = await resolve(house, opened, outcome, **given)
    await tell(house)
    return resolved


async def withdraw(house: House, opened: ClaimDispute) -> ClaimDispute:
    async with house.work(DEBTOR) as work:
        return await withdraw_dispute(work, opened.claim_id, opened.dispute_id)


async def give_evidence(
    house: House, opened: ClaimDispute, name: str = "offer.pdf", content: bytes | None = None
) -> UUID:
    """Attach a debtor's file to the dispute and return its id."""
    resources, merchant_id = house.resources, house.merchant.merchant_id
    ticket_id = resources.ids.new(house.clock.now())
    upload = NewUpload(name, name, content or a_pdf())
    storage = SealedFiles.open(resources)
    prepared = await prepare_upload(storage, INSPECTOR, merchant_id, ticket_id, upload)
    async with house.work(DEBTOR) as work:
        await save_upload(work.tx, prepared, house.clock.now(), house.clock.now())
        await add_evidence(work, opened.claim_id, opened.dispute_id, [ticket_id])
        found = await list_evidence_files(work.tx, merchant_id, [opened.dispute_id])
    return found[opened.dispute_id][-1].file_id


async def read_disputes(house: House, claim_id: int) -> list[ClaimDispute]:
    async with house.work() as work:
        found = await list_claim_disputes(work, claim_id, limit=50)
    return [each.dispute for each in found.items]
