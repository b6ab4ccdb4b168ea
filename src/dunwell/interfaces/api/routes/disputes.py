"""Find, list, read, open and resolve disputes, and download the debtor's evidence."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict
from starlette.responses import Response

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.answer_dispute import (
    DisputeResolution,
    ResolutionOutcome,
    list_outcome_faults,
    resolve_dispute,
)
from dunwell.cases.disputes.dispute import ClaimDispute as StoredDispute
from dunwell.cases.disputes.dispute import (
    DisputeState,
    EvidenceFile,
    NewDispute,
    list_reason_faults,
    render_case_number,
)
from dunwell.cases.disputes.list_disputes import (
    get_dispute,
    get_evidence,
    list_claim_disputes,
    list_disputes,
)
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.reasons import list_reasons
from dunwell.cases.disputes.store import list_evidence_files
from dunwell.core.files.upload import ALLOWED_TYPES
from dunwell.interfaces.api.address import parse_claim_id, parse_dispute_id, parse_file_id
from dunwell.interfaces.api.answer import build_file_response
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    Parameter,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    DISPUTE_ID,
    FILE_ID,
    LIMIT,
    MERCHANT_ID,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.disputes import (
    Dispute,
    DisputeFile,
    DisputeList,
    DisputeRequest,
    FoundDispute,
    FoundDisputeList,
    ResolutionRequest,
)
from dunwell.platform.errors import InvalidRequest, InvalidState, ValidationError
from dunwell.platform.text.wire import render_instant

_OUTCOMES: dict[str, ResolutionOutcome] = {
    "ACCEPTED": DisputeState.ACCEPTED,
    "REJECTED": DisputeState.REJECTED,
}
_PATH = "/merchants/{merchant_id}/claims/{claim_id}/disputes"
DISPUTE_EXAMPLE: dict[str, Any] = {
    "id": "01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2",
    "caseNumber": "RT8V-5RBR",
    "claimId": 4711,
    "type": "AMOUNT_WRONG",
    "reason": None,
    "label": None,
    "message": "The voucher of 10 EUR was not taken off.",
    "answers": {},
    "files": [],
    "state": "OPEN",
    "openedBy": "MERCHANT",
    "openedAt": "2026-03-02T18:04:00.000Z",
    "resolvedAt": None,
    "resolution": None,
    "claimEnded": None,
}

LIST_DISPUTES = Operation(
    operation_id="listDisputes",
    method="GET",
    path=_PATH,
    tag="Disputes",
    summary="List disputes",
    description="The claim's disputes, newest first, opened by the debtor or by you.",
    parameters=(
        MERCHANT_ID,
        CLAIM_ID,
        CURSOR,
        LIMIT,
    ),
    result=DisputeList,
    example={"items": [DISPUTE_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

READ_DISPUTE = Operation(
    operation_id="readDispute",
    method="GET",
    path=_PATH + "/{dispute_id}",
    tag="Disputes",
    summary="Read a dispute",
    description="The dispute that a DISPUTED event names, in the form of the list.",
    parameters=(MERCHANT_ID, CLAIM_ID, DISPUTE_ID),
    result=Dispute,
    example=DISPUTE_EXAMPLE,
    refusals=(ValidationError,),
    is_addition=True,
)

OPEN_DISPUTE = Operation(
    operation_id="openDispute",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=_PATH,
    tag="Disputes",
    summary="Open a dispute",
    description=(
        "Pauses the claim's workflow until the dispute is resolved, and raises DISPUTED, like a "
        "debtor's dispute. A claim can have several open disputes. When its last hold ends, "
        "steps that became due meanwhile run in order. Only a claim that is CREATED or "
        "IN_PROCESS can be disputed; otherwise the response is InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=DisputeRequest,
        example={"type": "AMOUNT_WRONG", "message": "The voucher of 10 EUR was not taken off."},
    ),
    result=Dispute,
    example=DISPUTE_EXAMPLE,
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

RESOLVE_DISPUTE = Operation(
    operation_id="resolveDispute",
    right=Right.ANSWER,
    method="POST",
    path=_PATH + "/{dispute_id}/resolve",
    tag="Disputes",
    summary="Resolve a dispute",
    description=(
        "ACCEPTED withdraws the claim (WITHDRAWN), unless `endClaim` is false. In that case, "
        "and with REJECTED, the dispute's hold ends and the workflow continues. If the claim "
        "was paid or has ended meanwhile, only the response is recorded. No event is raised.\n\n"
        "The same outcome again returns 200 and changes nothing. A different outcome, or a "
        "response to a dispute that the debtor has withdrawn, is InvalidState with the "
        "dispute's state."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, DISPUTE_ID),
    body=RequestBody(
        media_type="application/json",
        shape=ResolutionRequest,
        example={
            "outcome": "ACCEPTED",
            "endClaim": False,
            "message": "You are right. We have taken 10 EUR off.",
        },
    ),
    result=Dispute,
    example={
        **DISPUTE_EXAMPLE,
        "state": "ACCEPTED",
        "resolvedAt": "2026-03-03T08:30:00.000Z",
        "resolution": "You are right. We have taken 10 EUR off.",
        "claimEnded": False,
    },
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

DOWNLOAD_DISPUTE_FILE = Operation(
    operation_id="downloadDisputeFile",
    method="GET",
    path=_PATH + "/{dispute_id}/files/{file_id}/content",
    tag="Disputes",
    summary="Download a debtor's file",
    description=(
        "The file itself, without an envelope, with the debtor's file name. Images are "
        "re-encoded when they are received, and scripts, form actions and embedded files are "
        "removed from PDFs. Refusals have an envelope."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, DISPUTE_ID, FILE_ID),
    result=None,
    example="%PDF-1.7 ...",
    file_types=ALLOWED_TYPES,
    is_addition=True,
)


async def _list(call: ApiCall) -> DisputeList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_disputes(call.work, claim_id, limit=limit, cursor=cursor)
    items = [build_dispute(each.dispute, each.files) for each in page.items]
    return DisputeList(items, page.next_cursor)


async def _read(call: ApiCall) -> Dispute:
    claim_id = parse_claim_id(call.path["claim_id"])
    dispute_id = parse_dispute_id(call.path["dispute_id"])
    call.query.check()
    return build_dispute(*await get_dispute(call.work, claim_id, dispute_id))


async def _open(call: ApiCall) -> Dispute:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    reasons = list_reasons(call.merchant.configuration.disputes)
    submitted = parse_body(
        call.body,
        DisputeRequest,
        lambda submitted: list_reason_faults(submitted.type, submitted.message, reasons),
    )
    new = NewDispute(submitted.type, submitted.message)
    return build_dispute(await open_dispute(call.work, call.services.resources.keys, claim_id, new))


async def _resolve(call: ApiCall) -> Dispute:
    claim_id = parse_claim_id(call.path["claim_id"])
    dispute_id = parse_dispute_id(call.path["dispute_id"])
    call.query.check()
    submitted = parse_body(
        call.body,
        ResolutionRequest,
        lambda submitted: list_outcome_faults(submitted.outcome, ends_claim=submitted.end_claim),
    )
    resolution = DisputeResolution(
        _OUTCOMES[submitted.outcome], submitted.end_claim, submitted.message
    )
    resolved = await resolve_dispute(call.work, claim_id, dispute_id, resolution)
    files = await list_evidence_files(call.work.tx, call.work.merchant_id, [dispute_id])
    return build_dispute(resolved, files.get(dispute_id, ()))


async def _download(call: ApiCall) -> Response:
    claim_id = parse_claim_id(call.path["claim_id"])
    dispute_id = parse_dispute_id(call.path["dispute_id"])
    file_id = parse_file_id(call.path["file_id"])
    call.query.check()
    # Release the connection before calling the file storage.
    async with call.services.resources.database.connection() as call.tx:
        file = await get_evidence(call.work, claim_id, dispute_id, file_id)
    return await build_file_response(
        call.services.storage, file.storage_key, file.name, file.content_type
    )


def build_dispute(dispute: StoredDispute, files: Sequence[EvidenceFile] = ()) -> Dispute:
    """Convert a dispute to its wire type."""
    resolved_at = dispute.resolved_at
    return Dispute(
        id=str(dispute.dispute_id),
        case_number=render_case_number(dispute.dispute_id),
        claim_id=dispute.claim_id,
        type=dispute.type.value,
        reason=dispute.reason,
        label=dispute.label,
        message=dispute.message,
        answers=dict(dispute.answers),
        files=[_build_file(each) for each in files],
        state=dispute.state.value,
        opened_by="DEBTOR" if dispute.actor_kind is ActorKind.DEBTOR else "MERCHANT",
        opened_at=render_instant(dispute.opened_at),
        resolved_at=render_instant(resolved_at),
        resolution=dispute.resolution,
        claim_ended=dispute.ended_claim,
    )


def _build_file(file: EvidenceFile) -> DisputeFile:
    return DisputeFile(
        id=str(file.file_id),
        name=file.name,
        content_type=file.content_type,
        size=file.size_bytes,
        added_at=render_instant(file.added_at),
    )


ENDPOINTS = (
    ApiEndpoint(LIST_DISPUTES, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_DISPUTE, _read, DatabaseScope.CONNECTION),
    ApiEndpoint(OPEN_DISPUTE, _open),
    ApiEndpoint(RESOLVE_DISPUTE, _resolve),
    ApiEndpoint(DOWNLOAD_DISPUTE_FILE, _download, DatabaseScope.OWN),
)


FIND_DISPUTES = Operation(
    operation_id="findDisputes",
    method="GET",
    path="/merchants/{merchant_id}/disputes",
    tag="Disputes",
    summary="Find disputes",
    description=(
        "The disputes of all claims, newest first, that match all given filters. `overdue=true` "
        "finds disputes that are OPEN after the day by which the debtor was promised a response "
        "(`answerBy`). Their claims stay on hold until you respond. No dispute is ever added "
        "after a cursor that was returned."
    ),
    parameters=(
        MERCHANT_ID,
        Parameter(
            name="state", place="query", example="OPEN",
            schema={"type": "string", "enum": list(DisputeState)},
            description="Only disputes in this state.",
        ),
        build_flag_parameter(
            "overdue", "True: only disputes whose response is overdue. False: all.", example=False
        ),
        LIMIT,
        CURSOR,
    ),
    result=FoundDisputeList,
    example={
        "items": [
            {**DISPUTE_EXAMPLE, "referenceNumber": "INV-2026-0815", "answerBy": "2026-03-16"}
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip


async def _find(call: ApiCall) -> FoundDisputeList:
    query = call.query
    limit, cursor = parse_page(query)
    state = query.choice("state", tuple(DisputeState))
    is_overdue = parse_flag(query, "overdue") is True
    query.check()
    page = await list_disputes(
        call.work, limit=limit, cursor=cursor, state=DisputeState(state) if state else None,
        is_overdue=is_overdue,
    )  # fmt: skip
    configuration = call.work.merchant.configuration
    answer_days, timezone = configuration.disputes.answer_within_days, configuration.timezone
    items = [
        FoundDispute(
            **asdict(build_dispute(each.dispute, each.files)),
            reference_number=each.reference_number,
            answer_by=compute_answer_day(each.dispute.opened_at, answer_days, timezone).isoformat(),
        )
        for each in page.items
    ]
    return FoundDisputeList(items, page.next_cursor)


FIND_ENDPOINTS = (ApiEndpoint(FIND_DISPUTES, _find, DatabaseScope.CONNECTION),)
