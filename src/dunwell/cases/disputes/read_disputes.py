"""A claim's disputes with their files, the newest first, page by page; one dispute; one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import Dispute
from dunwell.cases.disputes.evidence import EvidenceFile
from dunwell.cases.disputes.evidence_store import load_evidence, load_evidence_file
from dunwell.cases.disputes.store import load_dispute, load_disputes
from dunwell.core.claims.access import check_claim
from dunwell.core.claims.part_cursor import PartList, Place, decode_cursor, encode_cursor
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound

_MARK = b"dis1"


@dataclass(frozen=True, slots=True)
class DisputePage:
    """No cursor when these are the last. files: of those that have any, by the dispute's id."""

    disputes: list[Dispute]
    files: Mapping[UUID, Sequence[EvidenceFile]]
    next_cursor: str | None


async def list_disputes(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> DisputePage:
    """Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    listed = PartList(_MARK, work.merchant_id, claim_id)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        place = None if cursor is None else decode_cursor(listed, cursor)
        found = await load_disputes(
            work.tx, work.merchant_id, claim_id, limit=limit + 1, place=place
        )
        page = found[:limit]
        files = await load_evidence(work.tx, work.merchant_id, [each.dispute_id for each in page])
    if len(found) <= limit:
        return DisputePage(page, files, None)
    last = Place(page[-1].opened_at, page[-1].dispute_id)
    return DisputePage(page, files, encode_cursor(listed, last))


async def get_dispute(
    work: Work, claim_id: int, dispute_id: UUID
) -> tuple[Dispute, Sequence[EvidenceFile]]:
    """The dispute and its files. Raises NotFound, in the words of what is missing first."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        dispute = await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
        if dispute is None:
            raise NotFound(f"There is no dispute {dispute_id}.")
        files = await load_evidence(work.tx, work.merchant_id, [dispute_id])
    return dispute, files.get(dispute_id, ())


async def read_evidence(work: Work, claim_id: int, dispute_id: UUID, file_id: UUID) -> EvidenceFile:
    """Raises NotFound, in the words of what is missing first."""
    work.need(Right.READ_CLAIMS)
    found = await load_evidence_file(
        work.tx, work.merchant_id, claim_id, dispute_id=dispute_id, file_id=file_id
    )
    if found is not None:
        return found
    await check_claim(work, claim_id)
    if await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id) is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    raise NotFound(f"There is no file {file_id}.")
