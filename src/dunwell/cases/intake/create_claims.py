"""Create claims: store the checked submissions with their workflow and first due time.

A claim that is invalid, repeats a reference or names an unknown ticket fails alone; the others are
created. One statement writes the claims of all given requests, so they are one transaction.
"""

import itertools
from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.configuration import list_missing_keys
from dunwell.accounts.merchants.legal_gaps import list_blocking_gaps
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.rulebook import compute_today, load_rulebook
from dunwell.cases.intake.check_claims import RejectedSubmission
from dunwell.cases.intake.rows import ItemRow, RequestRow, build_claim_row, build_item_rows
from dunwell.cases.intake.starts import ClaimStart, SubmittedClaim, decide_starts
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.conditions import count_years
from dunwell.core.claims.fields import DebtorFields, render_columns, render_record_columns
from dunwell.core.files.store import load_usable_tickets
from dunwell.platform.children.process import TimeSlices
from dunwell.platform.database.database import Connection
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.sql import load_statement
from dunwell.platform.errors import (
    DuplicateReferenceNumber,
    MerchantNotConfigured,
    Refusal,
    UnknownTicket,
)

# Reads a sequence only.
_RESERVE_IDS = """
SELECT nextval('claims_claim_id_seq') AS claim_id
FROM generate_series(1, $1)
"""
_IDS_PER_BLOCK = 100


async def reserve_claim_ids(tx: Connection, count: int) -> list[int]:
    return [row["claim_id"] for row in await tx.fetch(_RESERVE_IDS, count)]


class ClaimIds:
    """Ids that one process has reserved and not used."""

    def __init__(self) -> None:
        self._ids: deque[int] = deque()

    async def reserve(self, tx: Connection, count: int) -> Sequence[int]:
        """Return `count` ids that no other process gets. Reserve a block of them if too few are
        left."""
        while len(self._ids) < count:
            self._ids += await reserve_claim_ids(tx, max(_IDS_PER_BLOCK, count))
        return [self._ids.popleft() for _ in range(count)]

    def forget(self) -> None:
        """Discard the reserved ids, because they may have been used."""
        self._ids.clear()


_CREATE = load_statement(
    __file__,
    "create_claims.sql",
    columns=render_columns(DebtorFields),
    record=render_record_columns(DebtorFields),
    written_by=WRITTEN_BY,
)
# Uses the index claims_reference.
_FIND_BY_REFERENCE = "SELECT claim_id FROM claims WHERE merchant_id = $1 AND reference_number = $2"


@dataclass(frozen=True, slots=True)
class CreationRemark:
    """A warning about a claim that was created nevertheless."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CreationResult:
    """The result for one submitted claim: its id or an error."""

    claim_id: int | None
    reference_number: str | None
    error: Refusal | None = None
    remarks: tuple[CreationRemark, ...] = ()


@dataclass(slots=True, eq=False)
class CreationRequest:
    """The claims of one request."""

    actor: Actor
    submissions: Sequence[ClaimSubmission | RejectedSubmission]
    # Reserved ids, one per submission, or empty. If a request is repeated because its result is
    # unknown, claims stored under these ids were created by it.
    claim_ids: Sequence[int] = ()


NO_CONTACT = CreationRemark(
    "NO_CONTACT",
    "The claim has no e-mail, mobile number or postal address; the debtor cannot be contacted.",
)


# The age of majority in each member state of the European Union.
AGE_OF_MAJORITY = 18
MINOR_DEBTOR = CreationRemark(
    "MINOR_DEBTOR",
    f"The debtor is younger than {AGE_OF_MAJORITY} by dateOfBirth; check the date, and who is "
    f"liable for the debt.",
)


async def create_claims(
    work: Work, submissions: Sequence[ClaimSubmission | RejectedSubmission]
) -> list[CreationResult]:
    """Create the valid claims. Return one result per submission, in order.

    Raises MerchantNotConfigured. `work.tx` may be outside a transaction, because one statement
    writes everything.
    """
    work.require(Right.CHANGE_CLAIMS)
    [results] = await create_requests(work, [CreationRequest(work.actor, submissions)])
    return results


async def create_requests(
    work: Work, requests: Sequence[CreationRequest]
) -> list[list[CreationResult]]:
    """Create the claims of requests from several actors. Each request gets its own audit entry."""
    _check_configured(work.merchant)
    submissions = [claim for request in requests for claim in request.submissions]
    results = await _reject_unusable(work, submissions)
    chosen = {n: each for n, each in _number_claims(requests) if n not in results}
    if chosen:
        rulebook = await load_rulebook(work.tx, work.merchant)
        if rulebook.has_splits:
            chosen = await _reserve_missing_ids(work, chosen)
        starts = await decide_starts(work, rulebook, chosen)
        written = await _insert_claims(
            work, requests, chosen=chosen, starts=starts, rules_version=rulebook.version
        )
        today = compute_today(work)
        results |= {
            n: _build_result(submitted, starts[n], today, *written[n])
            for n, submitted in chosen.items()
        }
    _link_repeated_references(results)
    ordered = iter(range(len(submissions)))
    return [[results[next(ordered)] for _ in request.submissions] for request in requests]


def _check_configured(merchant: Merchant) -> None:
    """Check that the merchant can get claims. Raises MerchantNotConfigured with the reasons why
    missing data is required by law."""
    missing, gaps = list_missing_keys(merchant.configuration), list_blocking_gaps(merchant)
    if not missing and not gaps:
        return
    reasons = "".join(f" {gap.key}: {gap.reason}." for gap in gaps)
    raise MerchantNotConfigured(
        f"The operator has not finished setting this merchant up; see details.missing.{reasons}",
        missing=[*missing, *(gap.key for gap in gaps)],
    )


def _number_claims(requests: Sequence[CreationRequest]) -> Iterator[tuple[int, SubmittedClaim]]:
    """Yield the valid claims with their positions among all submissions."""
    positions = itertools.count()
    for number, request in enumerate(requests):
        ids = request.claim_ids or itertools.repeat(None, len(request.submissions))
        for claim, claim_id in zip(request.submissions, ids, strict=True):
            position = next(positions)
            if isinstance(claim, ClaimSubmission):
                yield position, SubmittedClaim(number, claim, claim_id)


async def _reserve_missing_ids(
    work: Work, chosen: Mapping[int, SubmittedClaim]
) -> dict[int, SubmittedClaim]:
    """Reserve ids for claims without one, because split rules need the id."""
    without = [n for n, each in chosen.items() if each.claim_id is None]
    reserved = await reserve_claim_ids(work.tx, len(without)) if without else []
    by_number = dict(zip(without, reserved, strict=True))
    return {
        n: each._replace(claim_id=by_number.get(n, each.claim_id)) for n, each in chosen.items()
    }


async def _reject_unusable(
    work: Work, submissions: Sequence[ClaimSubmission | RejectedSubmission]
) -> dict[int, CreationResult]:
    """Return, by position, the results of the claims that are not inserted: rejected submissions,
    claims with an unknown ticket, and repetitions of an earlier reference in `submissions`."""
    ticket_ids = {
        attachment.ticket_id
        for claim in submissions
        if isinstance(claim, ClaimSubmission)
        for attachment in claim.attachments
        if attachment.ticket_id is not None
    }
    usable = (
        await load_usable_tickets(work.tx, work.merchant_id, ticket_ids, work.now)
        if ticket_ids
        else set()
    )
    results: dict[int, CreationResult] = {}
    seen: set[str] = set()
    for n, claim in enumerate(submissions):
        if isinstance(claim, RejectedSubmission):
            results[n] = CreationResult(None, claim.reference_number, claim.error)
        elif claim.attachments and any(a.ticket_id not in usable for a in claim.attachments):
            results[n] = CreationResult(
                None, claim.reference_number, _build_unknown_ticket(claim, usable)
            )
        elif claim.reference_number in seen:
            results[n] = CreationResult(None, claim.reference_number, _build_duplicate(None))
        else:
            seen.add(claim.reference_number)
    return results


async def _insert_claims(
    work: Work, requests: Sequence[CreationRequest], chosen: Mapping[int, SubmittedClaim],
    starts: Mapping[int, ClaimStart], rules_version: int | None,
) -> Mapping[int, tuple[int | None, int | None]]:  # fmt: skip
    """Insert the claims. Return, by position, the new claim's id, or None and the id of the claim
    that has the reference."""
    rows: list[object] = []
    items: list[ItemRow] = []
    turns = TimeSlices()
    for n, (request, claim, claim_id) in chosen.items():
        rows.append(build_claim_row(n, claim, starts[n].row, request=request, claim_id=claim_id))
        items += build_item_rows(n, claim)
        await turns.yield_if_due()
    audits = [
        RequestRow(
            n,
            work.ids.new(work.now),
            actor_kind=each.actor.kind,
            actor_id=each.actor.actor_id,
            origin=each.actor.origin_json,
        )
        for n, each in enumerate(requests)
    ]
    stored = await work.tx.fetch(
        _CREATE, work.merchant_id, rows, items, _build_attachment_rows(work, chosen), audits,
        work.now, rules_version,
    )  # fmt: skip
    written = {}
    for row in stored:
        present = row["present_claim_id"]
        if row["claim_id"] is None and present is None:
            # Another request created the claim while this statement ran, so it is not in the
            # statement's snapshot.
            reference_number = chosen[row["n"]].claim.reference_number
            present = await work.tx.fetchval(_FIND_BY_REFERENCE, work.merchant_id, reference_number)
        written[row["n"]] = (row["claim_id"], present)
    return written


def _build_result(
    submitted: SubmittedClaim,
    start: ClaimStart,
    today: date,
    claim_id: int | None,
    existing_claim_id: int | None,
) -> CreationResult:
    """Build the result. If a claim exists under the id reserved for it, an earlier attempt of this
    request created it without getting the result."""
    if claim_id is None and (existing_claim_id is None or existing_claim_id != submitted.claim_id):
        return CreationResult(
            None, submitted.claim.reference_number, _build_duplicate(existing_claim_id)
        )
    remarks = tuple(_list_remarks(submitted.claim, start, today))
    reference_number = submitted.claim.reference_number
    return CreationResult(claim_id or existing_claim_id, reference_number, None, remarks)


def _list_remarks(
    claim: ClaimSubmission, start: ClaimStart, today: date
) -> Iterator[CreationRemark]:
    if not claim.has_contact:
        yield NO_CONTACT
    age = count_years(claim.date_of_birth, today)
    if age is not None and age < AGE_OF_MAJORITY:
        yield MINOR_DEBTOR
    if start.is_refused_for_currency:
        yield CreationRemark(
            "OTHER_CURRENCY",
            f"The workflow for this claim does not accept claims in {claim.currency}; the claim "
            "stays unassigned.",
        )


def _build_attachment_rows(
    work: Work, chosen: Mapping[int, SubmittedClaim]
) -> list[dict[str, Any]]:
    return [
        {
            "n": n,
            "position": position,
            "attachment_id": work.ids.new(work.now),
            "ticket_id": attachment.ticket_id,
        }
        for n, submitted in chosen.items()
        for position, attachment in enumerate(submitted.claim.attachments)
    ]


def _link_repeated_references(results: dict[int, CreationResult]) -> None:
    """Add the first claim's id to the error of a later claim with the same reference in one
    request."""
    first_ids = {
        result.reference_number: result.claim_id
        for result in results.values()
        if result.claim_id is not None
    }
    for n, result in results.items():
        error = result.error
        if isinstance(error, DuplicateReferenceNumber) and error.details["claimId"] is None:
            first_id = first_ids.get(result.reference_number)
            results[n] = CreationResult(None, result.reference_number, _build_duplicate(first_id))


def _build_unknown_ticket(claim: ClaimSubmission, usable: Container[object]) -> UnknownTicket:
    unknown = [a.source for a in claim.attachments if a.ticket_id not in usable]
    return UnknownTicket(
        "No usable upload has this ticket; upload the file again and use the new ticketId.",
        ticketIds=unknown,
    )


def _build_duplicate(claim_id: int | None) -> DuplicateReferenceNumber:
    return DuplicateReferenceNumber(
        "An earlier claim has this referenceNumber; see details.claimId.",
        claimId=claim_id,
    )
