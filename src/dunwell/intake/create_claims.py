"""Creates claims: what was checked is stored with its assignment and first due time.

Each claim stands for itself; a rejected one, a reference used before and an unknown ticket fail
alone. The whole set is one statement, hence one transaction, whatever its size.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dunwell.assignment.targets import load_rulebook
from dunwell.claims.debtor_rows import define_record, list_columns
from dunwell.claims.fields import DebtorFields
from dunwell.errors import DuplicateReferenceNumber, MerchantNotConfigured, Refusal, UnknownTicket
from dunwell.files.store import load_usable_tickets
from dunwell.intake.check_claims import Rejected
from dunwell.intake.rows import ItemRow, make_claim_row, make_item_rows
from dunwell.intake.starts import Start, decide_starts
from dunwell.intake.submission import ClaimSubmission
from dunwell.kit.process import Turns
from dunwell.kit.sql import load_statement
from dunwell.merchants.account import Work
from dunwell.merchants.configuration import find_missing

_CREATE = load_statement(
    __file__,
    "create_claims.sql",
    columns=list_columns(DebtorFields),
    record=define_record(DebtorFields),
)
# Rides on claims_reference.
_FIND_PRESENT = "SELECT claim_id FROM claims WHERE merchant_id = $1 AND reference_number = $2"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something worth knowing about a claim that was created all the same."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CreationResult:
    """What became of one submitted claim: an id, or an error."""

    claim_id: int | None
    reference_number: str | None
    error: Refusal | None = None
    remarks: tuple[Remark, ...] = ()


NO_CONTACT = Remark(
    "NO_CONTACT",
    "The claim has no e-mail, mobile number or postal address; nobody can be contacted.",
)


async def create_claims(
    work: Work, submissions: Sequence[ClaimSubmission | Rejected]
) -> list[CreationResult]:
    """Create what can be created; one result per submission, in order.

    Raises MerchantNotConfigured. `work.tx` need not be in a transaction: one statement writes all.
    """
    missing = find_missing(work.merchant.configuration)
    if missing:
        raise MerchantNotConfigured(
            "The operator has not finished setting this merchant up; see details.missing.",
            missing=missing,
        )
    results = await _refuse_unusable(work, submissions)
    chosen = {
        n: claim
        for n, claim in enumerate(submissions)
        if isinstance(claim, ClaimSubmission) and n not in results
    }
    if chosen:
        rulebook = await load_rulebook(work.tx, work.merchant)
        starts = await decide_starts(work, rulebook, chosen)
        results |= await _store(work, chosen, starts, rulebook.version)
    _point_to_first_use(results)
    return [results[n] for n in range(len(submissions))]


async def _refuse_unusable(
    work: Work, submissions: Sequence[ClaimSubmission | Rejected]
) -> dict[int, CreationResult]:
    """Results of the claims that cannot be created whatever the database says."""
    wanted = {
        attachment.ticket_id
        for claim in submissions
        if isinstance(claim, ClaimSubmission)
        for attachment in claim.attachments
        if attachment.ticket_id is not None
    }
    usable = (
        await load_usable_tickets(work.tx, work.merchant_id, wanted, work.now) if wanted else set()
    )
    refused: dict[int, CreationResult] = {}
    seen: set[str] = set()
    for n, claim in enumerate(submissions):
        if isinstance(claim, Rejected):
            refused[n] = CreationResult(None, claim.reference_number, claim.error)
        elif claim.attachments and any(a.ticket_id not in usable for a in claim.attachments):
            refused[n] = CreationResult(
                None, claim.reference_number, _unknown_ticket(claim, usable)
            )
        elif claim.reference_number in seen:
            refused[n] = CreationResult(None, claim.reference_number, _duplicate(None))
        else:
            seen.add(claim.reference_number)
    return refused


async def _store(
    work: Work, chosen: dict[int, ClaimSubmission], starts: Mapping[int, Start],
    rules_version: int | None,
) -> dict[int, CreationResult]:  # fmt: skip
    rows: list[object] = []
    items: list[ItemRow] = []
    turns = Turns()
    for n, claim in chosen.items():
        rows.append(make_claim_row(n, claim, starts[n].row, starts[n].claim_id))
        items += make_item_rows(n, claim)
        await turns.give_way()
    stored = await work.tx.fetch(
        _CREATE, work.merchant_id, rows, items, _attachment_rows(work, chosen),
        work.now, work.ids.new(work.now), work.actor.kind, work.actor.actor_id, rules_version,
    )  # fmt: skip
    results = {}
    for row in stored:
        n, claim_id = row["n"], row["claim_id"]
        claim = chosen[n]
        if claim_id is not None:
            remarks = tuple(_find_remarks(claim, starts[n]))
            results[n] = CreationResult(claim_id, claim.reference_number, None, remarks)
            continue
        # A claim that another request created while this statement ran is not in its snapshot.
        present = row["present_claim_id"] or await work.tx.fetchval(
            _FIND_PRESENT, work.merchant_id, claim.reference_number
        )
        results[n] = CreationResult(None, claim.reference_number, _duplicate(present))
    return results


def _find_remarks(claim: ClaimSubmission, start: Start) -> Iterator[Remark]:
    if not claim.has_contact:
        yield NO_CONTACT
    if start.is_other_currency:
        yield Remark(
            "OTHER_CURRENCY",
            f"The workflow it would get does not take claims in {claim.currency}; "
            "the claim stays unassigned.",
        )


def _attachment_rows(work: Work, chosen: dict[int, ClaimSubmission]) -> list[dict[str, Any]]:
    return [
        {
            "n": n,
            "position": position,
            "attachment_id": work.ids.new(work.now),
            "ticket_id": attachment.ticket_id,
        }
        for n, claim in chosen.items()
        for position, attachment in enumerate(claim.attachments)
    ]


def _point_to_first_use(results: dict[int, CreationResult]) -> None:
    """A reference used twice in one request: the later claim names the earlier one's id."""
    first_ids = {
        result.reference_number: result.claim_id
        for result in results.values()
        if result.claim_id is not None
    }
    for n, result in results.items():
        error = result.error
        if isinstance(error, DuplicateReferenceNumber) and error.details["claimId"] is None:
            first_id = first_ids.get(result.reference_number)
            results[n] = CreationResult(None, result.reference_number, _duplicate(first_id))


def _unknown_ticket(claim: ClaimSubmission, usable: Container[object]) -> UnknownTicket:
    unknown = [a.source for a in claim.attachments if a.ticket_id not in usable]
    return UnknownTicket(
        "No usable upload has this ticket; upload the file again and use the new ticketId.",
        ticketIds=unknown,
    )


def _duplicate(claim_id: int | None) -> DuplicateReferenceNumber:
    return DuplicateReferenceNumber(
        "This referenceNumber is taken by an earlier claim; see details.claimId.",
        claimId=claim_id,
    )
