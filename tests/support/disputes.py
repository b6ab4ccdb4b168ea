"""Functions that open and resolve disputes of a merchant's claims."""

from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, build_debtor_actor
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
from tests.support.harness import ERP, Harness
from tests.support.notice_sending import send_due_notices
from tests.support.uploads import prepare_upload

DEBTOR = build_debtor_actor("session-1")
ACCEPTED: ResolutionOutcome = DisputeState.ACCEPTED
REJECTED: ResolutionOutcome = DisputeState.REJECTED


async def dispute(
    harness: Harness, claim_id: int, dispute_type: str = "AMOUNT_WRONG", message: str | None = None,
    actor: Actor = DEBTOR,
) -> ClaimDispute:  # fmt: skip
    async with harness.work(actor) as work:
        new = NewDispute(dispute_type, message)
        return await open_dispute(work, harness.resources.keys, claim_id, new)


async def resolve(
    harness: Harness, opened: ClaimDispute, outcome: ResolutionOutcome, **given: Any
) -> ClaimDispute:
    """Resolve the dispute. `given` holds end_claim and message."""
    async with harness.work(ERP) as work:
        resolution = DisputeResolution(outcome, **given)
        return await resolve_dispute(work, opened.claim_id, opened.dispute_id, resolution)


async def answer(
    harness: Harness, opened: ClaimDispute, outcome: ResolutionOutcome, **given: Any
) -> ClaimDispute:
    """Resolve the dispute and inform the debtor."""
    resolved = await resolve(harness, opened, outcome, **given)
    await send_due_notices(harness)
    return resolved


async def withdraw(harness: Harness, opened: ClaimDispute) -> ClaimDispute:
    async with harness.work(DEBTOR) as work:
        return await withdraw_dispute(work, opened.claim_id, opened.dispute_id)


async def give_evidence(
    harness: Harness, opened: ClaimDispute, name: str = "offer.pdf", content: bytes | None = None
) -> UUID:
    """Attach a debtor's file to the dispute and return its id."""
    resources, merchant_id = harness.resources, harness.merchant.merchant_id
    ticket_id = resources.ids.new(harness.clock.now())
    upload = NewUpload(name, name, content or a_pdf())
    storage = SealedFiles.open(resources)
    prepared = await prepare_upload(storage, INSPECTOR, merchant_id, ticket_id, upload)
    async with harness.work(DEBTOR) as work:
        await save_upload(work.tx, prepared, harness.clock.now(), harness.clock.now())
        await add_evidence(work, opened.claim_id, opened.dispute_id, [ticket_id])
        found = await list_evidence_files(work.tx, merchant_id, [opened.dispute_id])
    return found[opened.dispute_id][-1].file_id


async def read_disputes(harness: Harness, claim_id: int) -> list[ClaimDispute]:
    async with harness.work() as work:
        found = await list_claim_disputes(work, claim_id, limit=50)
    return [each.dispute for each in found.items]
