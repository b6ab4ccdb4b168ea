"""Find claims, read a claim in its wire format, and explain its status."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import msgspec
from msgspec import UNSET

from dunwell.cases.intake.check_claims import normalize_reference
from dunwell.contact.messages.claim_links import activate_claim_token
from dunwell.core.claims.access import ClaimView, CurrentAssignment, get_claim
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.fields import FIELDS, AddressSubmission, DebtorFields
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.lists.store import ClaimRow as Found
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.core.claims.states import Hold, Status
from dunwell.core.files.read_attachments import list_all_attachments
from dunwell.core.files.upload import AttachedFile
from dunwell.interfaces.api.address import parse_claim_id
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    Parameter,
)
from dunwell.interfaces.api.routes.attachments import ATTACHMENT_EXAMPLE, build_attachment
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    parse_page,
)
from dunwell.interfaces.api.schemas import claims
from dunwell.interfaces.api.schemas.claims import ClaimList, ListedClaim
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.operations.claim_status.views import EXAMPLE, ClaimExplanation, render_explanation
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.wire import convert_to_json, render_instant

CLAIM_EXAMPLE: dict[str, Any] = {
    "id": 4711,
    "referenceNumber": "INV-2026-0815",
    "currency": "EUR",
    **claims.DEBTOR_EXAMPLE,
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
            "itemId": None,
        },
        {
            "id": 9002,
            "reference": "Dunning fee",
            "type": "DUNNING_FEE",
            "value": "250",
            "outstanding": "250",
            "itemDate": "2026-03-09",
            "dueDate": None,
            "itemId": None,
        },
    ],
    "attachments": [ATTACHMENT_EXAMPLE],
    "assignment": {
        "workflowId": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
        "workflowVersion": "v1.0",
    },
    "nextStepAt": "2026-03-23T08:00:00.000Z",
    "createdAt": "2026-03-02T09:00:00.000Z",
    "updatedAt": "2026-03-09T08:00:01.000Z",
    "landingPageUrl": "https://claims.example.com/q/3q2-7wEBAgMEBQYHCAkKCw",
}
_LISTED_FIELDS = (
    "id", "referenceNumber", "customerNumber", "currency", "debtorName", "debtorLastName",
    "companyName", "status", "holds", "total", "outstanding", "overpaid", "nextStepAt", "createdAt",
    "updatedAt",
)  # fmt: skip

FIND_CLAIMS = Operation(
    operation_id="findClaims",
    method="GET",
    path="/merchants/{merchant_id}/claims",
    tag="Claims",
    summary="Find claims",
    description=(
        "The merchant's claims, newest first, that match all given filters. No claim is ever "
        "added after a cursor that was returned: a claim is listed only when no claim that was "
        "created before it can still appear. A claim is found by its `referenceNumber` "
        "immediately.\n\n"
        "To follow changes, repeat the request with `updatedSince`. Each time, use the time at "
        "which the previous run started, less five minutes: a change becomes visible when it is "
        "complete, but has the time at which it started.\n\n"
        "`search` finds claims that have words beginning with the words given, in upper or "
        "lower case, in reference, id, customer and contract number, names, company, e-mail and "
        "phone. The shortest matches come first. It cannot be combined with other filters. A "
        "new claim is found within two seconds. A page may have fewer claims than `limit`: "
        "continue until `nextCursor` is null."
    ),
    parameters=(
        MERCHANT_ID,
        Parameter(
            name="referenceNumber", place="query", example="INV-2026-0815",
            schema={"type": "string", "minLength": 1, "maxLength": 255},
            description="Only the claim with this reference.",
        ),
        Parameter(
            name="customerNumber", place="query", example="C-7001",
            schema={"type": "string", "minLength": 1, "maxLength": 255},
            description="Only claims of this customer of yours.",
        ),
        Parameter(
            name="status", place="query", example="IN_PROCESS",
            schema={"type": "string", "enum": list(Status)},
            description="Only claims with this status.",
        ),
        Parameter(
            name="updatedSince", place="query", example="2026-03-09T00:00:00Z",
            schema={"type": "string", "format": "date-time"},
            description="Only claims whose `updatedAt` is at or after this time.",
        ),
        Parameter(
            name="search", place="query",
            schema={"type": "string", "minLength": 1, "maxLength": 255},
            description=(
                "Only claims with words that begin with each of these words. No other filters."
            ),
            is_addition=True,
        ),
        LIMIT,
        CURSOR,
    ),
    result=ClaimList,
    example={
        "items": [{name: CLAIM_EXAMPLE[name] for name in _LISTED_FIELDS}],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

READ_CLAIM = Operation(
    operation_id="readClaim",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}",
    tag="Claims",
    summary="Read a claim",
    description=(
        "All submitted data, the claim's `status`, its holds, the outstanding amount in total "
        "and of each item, its attachments, and the workflow version or scenario that it is "
        "assigned to."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=claims.Claim,
    example=CLAIM_EXAMPLE,
    is_addition=True,
)
EXPLAIN_CLAIM = Operation(
    operation_id="explainClaim",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/explanation",
    tag="Claims",
    summary="Explain a claim",
    description=(
        "Why the claim has its status: which assignment rules match and which do not, the "
        "result of each step of the workflow, the next step with its time and reason, the "
        "holds, and the next five contacts if nothing is paid. Codes are for programs; each "
        "`reason` is a sentence for people."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=ClaimExplanation,
    example=convert_to_json(EXAMPLE),
    is_addition=True,
)


async def _find(call: ApiCall) -> ClaimList:
    query = call.query
    limit, cursor = parse_page(query)
    status = query.choice("status", tuple(Status))
    reference_number, customer_number = query.text("referenceNumber"), query.text("customerNumber")
    if reference_number is not None:
        reference_number = normalize_reference(reference_number)
    updated_since = query.instant("updatedSince")
    search = query.text("search")
    query.check()
    if search is not None:
        if any((reference_number, customer_number, status, updated_since)):
            raise ValidationError(
                [Fault("/search", "Do not combine search with other filters.", "NOT_ALLOWED")]
            )
        return await _search(call, search, limit, cursor)
    wanted = ClaimFilter(
        reference_number, customer_number, Status(status) if status else None, updated_since
    )
    page = await list_claims(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return ClaimList([_build_listed_claim(each) for each in page.items], page.next_cursor)


async def _search(call: ApiCall, text: str, limit: int, cursor: str | None) -> ClaimList:
    page = await search_claims(call.work, text, limit=limit, cursor=cursor)
    return ClaimList([_build_listed_claim(each) for each in page.items], page.next_cursor)


def _build_listed_claim(claim: Found) -> ListedClaim:
    return ListedClaim(
        id=claim.claim_id,
        reference_number=claim.reference_number,
        customer_number=claim.customer_number,
        currency=claim.currency,
        debtor_name=claim.first_name,
        debtor_last_name=claim.last_name,
        company_name=claim.company_name,
        status=claim.status.value,
        holds=build_claim_holds(claim.holds),
        total=str(claim.balance.total_cents),
        outstanding=str(claim.balance.outstanding_cents),
        overpaid=str(claim.balance.overpaid_cents),
        next_step_at=render_instant(claim.next_step_at),
        created_at=render_instant(claim.created_at),
        updated_at=render_instant(claim.updated_at),
    )


async def _read(call: ApiCall) -> claims.Claim:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    return await load_claim_result(call, claim_id)


async def load_claim_result(call: ApiCall, claim_id: int) -> claims.Claim:
    """Load the claim and convert it to its wire type. The first time, this activates the claim's
    link. Raises NotFound if the claim does not exist."""
    view = await get_claim(call.work, claim_id)
    attached = await list_all_attachments(call.work, claim_id)
    resources, work = call.services.resources, call.work
    token = await activate_claim_token(
        work.tx, resources.keys, work.merchant_id, claim_id, now=work.real_now
    )
    return build_claim(view, attached, f"{resources.settings.public_url}/q/{token}")


async def _explain(call: ApiCall) -> ClaimExplanation:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    return render_explanation(
        await explain_claim(call.work, call.services.resources.keys, claim_id)
    )


ENDPOINTS = (
    ApiEndpoint(FIND_CLAIMS, _find, DatabaseScope.CONNECTION),
    # In a transaction, because reading a claim for the first time activates its link.
    ApiEndpoint(READ_CLAIM, _read),
    ApiEndpoint(EXPLAIN_CLAIM, _explain, DatabaseScope.CONNECTION),
)


def build_claim(
    view: ClaimView, attached: Sequence[AttachedFile], landing_page_url: str
) -> claims.Claim:
    return claims.Claim(
        id=view.claim_id,
        reference_number=view.reference_number,
        currency=view.currency,
        **_build_debtor(view.debtor),
        status=view.status.value,
        holds=build_claim_holds(view.holds),
        total=str(view.balance.total_cents),
        outstanding=str(view.balance.outstanding_cents),
        overpaid=str(view.balance.overpaid_cents),
        items=[build_claim_item(item) for item in view.items],
        attachments=[build_attachment(each) for each in attached],
        assignment=_build_assignment(view.assignment),
        next_step_at=render_instant(view.next_step_at),
        created_at=render_instant(view.created_at),
        updated_at=render_instant(view.updated_at),
        landing_page_url=landing_page_url,
    )


def _build_debtor(debtor: DebtorFields) -> dict[str, Any]:
    shown = {each.name: getattr(debtor, each.name) for each in FIELDS}
    return shown | {
        "address": _build_address(debtor.address),
        "custom_fields": debtor.custom_fields or None,
    }


def _build_address(address: AddressSubmission | None) -> object:
    if address is None:
        return None
    return claims.Address(
        **{name: value or UNSET for name, value in msgspec.structs.asdict(address).items()}
    )


def build_claim_holds(holds: Sequence[Hold]) -> list[claims.ClaimHold]:
    return [
        claims.ClaimHold(
            kind=hold.kind.value,
            since=render_instant(hold.since),
            until=render_instant(hold.until),
            by=hold.actor_kind.value,
            reason=hold.reason,
        )
        for hold in holds
    ]


def build_claim_item(item: OwedItem) -> claims.ClaimItem:
    return claims.ClaimItem(
        id=item.item_id,
        reference=item.reference,
        type=item.type,
        value=str(item.value_cents),
        outstanding=str(item.outstanding_cents),
        item_date=render_day(item.item_on),
        due_date=render_day(item.due_on),
        item_id=item.fee_of,
    )


def _build_assignment(assignment: CurrentAssignment | None) -> claims.ClaimAssignment | None:
    if assignment is None:
        return None
    if assignment.scenario_id is not None:
        return claims.ClaimAssignment(scenario_id=assignment.scenario_id)
    return claims.ClaimAssignment(
        workflow_id=str(assignment.workflow_id), workflow_version=assignment.version
    )


def render_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
