"""Create claims."""

from typing import Annotated

from msgspec import Meta

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import parse_claims
from dunwell.cases.intake.create_claims import CreationResult, create_claims
from dunwell.cases.intake.submission import MAX_CLAIMS, ClaimSubmission
from dunwell.interfaces.api.answer import build_failure
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    RequestBody,
)
from dunwell.interfaces.api.routes.parameters import MERCHANT_ID, TICKET_EXAMPLE
from dunwell.interfaces.api.schemas import claims
from dunwell.platform.children.process import TimeSlices
from dunwell.platform.errors import (
    DuplicateReferenceNumber,
    InvalidRequest,
    MerchantNotConfigured,
    UnknownTicket,
    ValidationError,
)

_CLAIM_EXAMPLE = {
    **{name: value for name, value in claims.DEBTOR_EXAMPLE.items() if value is not None},
    "referenceNumber": "INV-2026-0815",
    "currency": "EUR",
    "items": [
        {
            "reference": "INV-2026-0815",
            "type": "PRIMARY",
            "value": "10240",
            "itemDate": "2026-01-15",
            "dueDate": "2026-01-29",
        }
    ],
    "attachments": [{"sourceType": "TICKET", "source": TICKET_EXAMPLE}],
}
# This claim fails; the other one is created.
_FAULTY_EXAMPLE = {
    "companyName": "Muster GmbH",
    "referenceNumber": "INV-2026-0816",
    "currency": "EUR",
    "items": [
        {
            "reference": "INV-2026-0816",
            "type": "PRIMARY",
            "value": "4990",
            "itemDate": "2026-02-15",
            "dueDate": "2026-02-01",
        }
    ],
}

CREATE_CLAIMS = Operation(
    operation_id="createClaims",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path="/merchants/{merchant_id}/claims",
    tag="Claims",
    summary="Create claims",
    description=(
        "Creates up to 1,000 claims, in at most 10 MiB. The response has one result per "
        "submitted claim, in the same order. The results are independent: a claim that fails "
        "has its own `error`, and the others are created.\n\n"
        "The fields `referenceNumber`, `currency`, `items` with at least one item of type "
        "PRIMARY, and `debtorLastName` or `companyName` are required. Amounts are strings of "
        "digits in cents. A `referenceNumber` is unique per merchant. A created claim is "
        "assigned by the merchant's rules immediately."
    ),
    parameters=(MERCHANT_ID,),
    body=RequestBody(
        media_type="application/json",
        shape=Annotated[list[ClaimSubmission], Meta(min_length=1, max_length=MAX_CLAIMS)],
        example=[_CLAIM_EXAMPLE, _FAULTY_EXAMPLE],
    ),
    result=list[claims.ClaimCreationResult],
    example=[
        {"id": 4711, "referenceNumber": "INV-2026-0815", "error": None, "result": None},
        {
            "id": None,
            "referenceNumber": "INV-2026-0816",
            "error": {
                "type": "ValidationError",
                "message": "1 fault was found. See details.errors; correct them and send again.",
                "details": {
                    "errors": [
                        {
                            "path": "/items/0/dueDate",
                            "message": "dueDate is before itemDate.",
                            "code": "WRONG_ORDER",
                        }
                    ]
                },
            },
            "result": None,
        },
    ],
    refusals=(
        InvalidRequest,
        ValidationError,
        MerchantNotConfigured,
        DuplicateReferenceNumber,
        UnknownTicket,
    ),
)


async def _create(call: ApiCall) -> list[claims.ClaimCreationResult]:
    call.query.check()
    submissions, time_slices = [], TimeSlices()
    try:
        for submission in parse_claims(call.body):
            submissions.append(submission)
            await time_slices.yield_if_due()
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply to be an array of claims.") from None
    if call.tx is None:
        results = await call.services.intake.create(call.merchant, call.actor, submissions)
    else:
        results = await create_claims(call.work, submissions)
    return [_build_result(each) for each in results]


def _build_result(created: CreationResult) -> claims.ClaimCreationResult:
    if created.error is not None:
        return claims.FailedClaim(
            id=None,
            reference_number=created.reference_number,
            error=build_failure(created.error),
            result=None,
        )
    assert created.claim_id is not None
    assert created.reference_number is not None
    warnings = [claims.CreationWarning(each.code, each.message) for each in created.remarks]
    return claims.CreatedClaim(
        id=created.claim_id,
        reference_number=created.reference_number,
        error=None,
        result=claims.CreationRemarks(warnings) if warnings else None,
    )


ENDPOINTS = (ApiEndpoint(CREATE_CLAIMS, _create, DatabaseScope.SHARED),)
