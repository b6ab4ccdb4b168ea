"""Create claims, read one back."""

from collections.abc import Sequence
from datetime import date

from msgspec import UNSET

from dunwell.api.call import Call
from dunwell.api.operation import Body, Endpoint, Operation, Span
from dunwell.api.paths import read_claim_id
from dunwell.api.query import write_instant
from dunwell.api.refusing import describe
from dunwell.api.routes.parameters import CLAIM_ID, MERCHANT_ID
from dunwell.api.schemas import claims as wire
from dunwell.claims.balance import Item
from dunwell.claims.holds import Hold
from dunwell.claims.read_claim import Assignment, ClaimView, read_claim
from dunwell.errors import (
    DuplicateReferenceNumber,
    InvalidRequest,
    MerchantNotConfigured,
    UnknownTicket,
    ValidationError,
)
from dunwell.intake.check_claims import check_claims
from dunwell.intake.create_claims import CreationResult, create_claims
from dunwell.intake.submission import ClaimSubmission
from dunwell.messages.claim_link import give_claim_token

_CLAIM_EXAMPLE = {
    "debtorName": "Erika",
    "debtorLastName": "Mustermann",
    "email": "erika@example.org",
    "mobileNumber": "+4915112345678",
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
    "attachments": [{"sourceType": "TICKET", "source": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"}],
}

CREATE_CLAIMS = Operation(
    operation_id="createClaims",
    method="POST",
    path="/merchants/{merchant_id}/claims",
    tag="Claims",
    summary="Create claims",
    description=(
        "Hands over one claim or many, up to 1,000 in 10 MiB. The answer has one result per "
        "submitted claim, in the same order. Each stands for itself: one that fails carries its "
        "own `error`, the others are created all the same.\n\n"
        "Required are `referenceNumber`, `currency`, `items` with at least one of type PRIMARY, "
        "and `debtorLastName` or `companyName`. Money is a string of digits in cents. A "
        "`referenceNumber` is unique per merchant. A created claim is assigned by the merchant's "
        "rules at once."
    ),
    parameters=(MERCHANT_ID,),
    body=Body(media_type="application/json", shape=list[ClaimSubmission], example=[_CLAIM_EXAMPLE]),
    result=list[wire.ClaimCreationResult],
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
                            "path": "/items/0/value",
                            "message": "Expected a string, not a number.",
                            "code": "WRONG_TYPE",
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

READ_CLAIM = Operation(
    operation_id="readClaim",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}",
    tag="Claims",
    summary="Read a claim",
    description=(
        "Everything that was submitted, the claim's `status`, what holds it, what is owed in all "
        "and on each item, and which workflow version runs it."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=wire.Claim,
    example={
        "id": 4711,
        "referenceNumber": "INV-2026-0815",
        "currency": "EUR",
        "debtorName": "Erika",
        "debtorLastName": "Mustermann",
        "companyName": None,
        "email": "erika@example.org",
        "mobileNumber": "+4915112345678",
        "language": None,
        "dateOfBirth": None,
        "address": None,
        "customerNumber": None,
        "contractNumber": None,
        "customFields": None,
        "maxDeferralDate": None,
        "status": "IN_PROCESS",
        "holds": [],
        "total": "10490",
        "outstanding": "10490",
        "overpaid": "0",
        "items": [
            {
                "id": 9001,
                "reference": "INV-2026-0815",
                "type": "PRIMARY",
                "value": "10240",
                "outstanding": "10240",
                "itemDate": "2026-01-15",
                "dueDate": "2026-01-29",
            },
            {
                "id": 9002,
                "reference": None,
                "type": "DUNNING_FEE",
                "value": "250",
                "outstanding": "250",
                "itemDate": "2026-03-09",
                "dueDate": None,
            },
        ],
        "assignment": {
            "workflowId": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
            "workflowVersion": "v1.0",
        },
        "nextStepAt": "2026-03-23T08:00:00.000Z",
        "createdAt": "2026-03-02T09:00:00.000Z",
        "landingPageUrl": "https://claims.example.com/q/3q2-7wEBAgMEBQYHCAkKCw",
    },
    is_addition=True,
)


async def _create(call: Call) -> list[wire.ClaimCreationResult]:
    try:
        submissions = check_claims(call.body)
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply to be an array of claims.") from None
    call.query.check()
    return [_show_result(each) for each in await create_claims(call.work, submissions)]


def _show_result(created: CreationResult) -> wire.ClaimCreationResult:
    warnings = [wire.CreationWarning(each.code, each.message) for each in created.remarks]
    return wire.ClaimCreationResult(
        id=created.claim_id,
        reference_number=created.reference_number,
        error=describe(created.error) if created.error else None,
        result=wire.CreationRemarks(warnings) if warnings else None,
    )


async def _read(call: Call) -> wire.Claim:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    view = await read_claim(call.work, claim_id)
    resources, work = call.tools.resources, call.work
    token = await give_claim_token(
        work.tx, resources.keys, work.merchant_id, claim_id, resources.clock.now()
    )
    return _show_claim(view, f"{resources.settings.public_url}/q/{token}")


def _show_claim(view: ClaimView, landing_page_url: str) -> wire.Claim:
    debtor = view.debtor
    return wire.Claim(
        id=view.claim_id,
        reference_number=view.reference_number,
        currency=view.currency,
        debtor_name=debtor.first_name,
        debtor_last_name=debtor.last_name,
        company_name=debtor.company_name,
        email=debtor.email,
        mobile_number=debtor.mobile_number,
        language=debtor.language,
        date_of_birth=_show_day(debtor.date_of_birth),
        address=_show_address(view),
        customer_number=debtor.customer_number,
        contract_number=debtor.contract_number,
        custom_fields=dict(debtor.custom_fields) if debtor.custom_fields else None,
        max_deferral_date=_show_day(debtor.max_deferral_on),
        status=view.status.value,
        holds=_show_holds(view.holds),
        total=str(view.balance.total_cents),
        outstanding=str(view.balance.outstanding_cents),
        overpaid=str(view.balance.overpaid_cents),
        items=[_show_item(item) for item in view.items],
        assignment=_show_assignment(view.assignment),
        next_step_at=write_instant(view.next_step_at) if view.next_step_at else None,
        created_at=write_instant(view.created_at),
        landing_page_url=landing_page_url,
    )


def _show_address(view: ClaimView) -> wire.Address | None:
    if view.debtor.address is None:
        return None
    return wire.Address(**{name: value or UNSET for name, value in view.debtor.address.items()})


def _show_holds(holds: Sequence[Hold]) -> list[wire.ClaimHold]:
    return [
        wire.ClaimHold(
            kind=hold.kind.value,
            since=write_instant(hold.since),
            until=write_instant(hold.until) if hold.until else None,
            by=hold.actor_kind.value,
        )
        for hold in holds
    ]


def _show_item(item: Item) -> wire.ClaimItem:
    return wire.ClaimItem(
        id=item.item_id,
        reference=item.reference,
        type=item.type,
        value=str(item.value_cents),
        outstanding=str(item.outstanding_cents),
        item_date=_show_day(item.item_on),
        due_date=_show_day(item.due_on),
    )


def _show_assignment(assignment: Assignment | None) -> wire.ClaimAssignment | None:
    if assignment is None:
        return None
    return wire.ClaimAssignment(str(assignment.workflow_id), assignment.version)


def _show_day(day: date | None) -> str | None:
    return day.isoformat() if day else None


ENDPOINTS = (
    # Creating is one statement, which commits by itself: no further round trips for a transaction.
    Endpoint(CREATE_CLAIMS, _create, Span.CONNECTION),
    Endpoint(READ_CLAIM, _read),
)
