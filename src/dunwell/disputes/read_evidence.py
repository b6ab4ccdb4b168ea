"""One file of a dispute."""

from uuid import UUID

from dunwell.claims.access import check_claim
from dunwell.disputes.evidence import EvidenceFile
from dunwell.disputes.evidence_store import load_evidence_file
from dunwell.disputes.store import load_dispute
from dunwell.errors import NotFound
from dunwell.merchants.account import Work


async def read_evidence(work: Work, claim_id: int, dispute_id: UUID, file_id: UUID) -> EvidenceFile:
    """Raises NotFound, in the words of what is missing first."""
    found = await load_evidence_file(work.tx, work.merchant_id, claim_id, dispute_id, file_id)
    if found is not None:
        return found
    await check_claim(work, claim_id)
    if await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id) is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    raise NotFound(f"There is no file {file_id}.")
