"""Change a claim's contact data, withdraw, archive, pause and resume it."""

from collections.abc import Awaitable, Callable, Iterator

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.intake.submission import ContactPatch
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.interfaces.api.address import parse_claim_id
from dunwell.interfaces.api.answer import JSON
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, Operation, RequestBody
from dunwell.interfaces.api.reading import parse_body, parse_json_body
from dunwell.interfaces.api.routes.claim_reading import CLAIM_EXAMPLE, load_claim_result
from dunwell.interfaces.api.routes.parameters import CLAIM_ID, MERCHANT_ID
from dunwell.interfaces.api.routes.payments import list_instant_faults, parse_body_instant
from dunwell.interfaces.api.schemas.claims import Claim, PauseRequest
from dunwell.platform.errors import Fault, InvalidRequest, InvalidState, ValidationError

_PATH = "/merchants/{merchant_id}/claims/{claim_id}"
_MERGE_PATCH = "application/merge-patch+json"
_CLAIM_WITHOUT_NEXT_STEP = {
    **CLAIM_EXAMPLE,
    "nextStepAt": None,
    "updatedAt": "2026-03-10T11:20:00.000Z",
}
_PAUSE_EXAMPLE = {
    "kind": "PAUSE",
    "since": "2026-03-10T11:20:00.000Z",
    "until": "2026-03-24T08:00:00.000Z",
    "by": "CREDENTIAL",
    "reason": "In talks with the debtor",
}
_MESSAGES_STOP = (
    "Planned messages are not sent. A message that is being sent at this moment cannot be "
    "recalled, and its ESCALATED event is raised."
)

CHANGE_CLAIM = Operation(
    operation_id="changeClaim",
    right=Right.CHANGE_CLAIMS,
    method="PATCH",
    path=_PATH,
    tag="Claims",
    summary="Change contact data",
    description=(
        "A JSON merge patch (RFC 7396) of the debtor's data, accepted in every state of the "
        "claim. Given fields are changed, null clears a field, and all other fields stay, also "
        "within `address` and `customFields`. The result is checked like a new claim, and all "
        "faults are reported together. Planned messages go to the new address. Amounts are not "
        "changed here; see items and fees."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type=_MERGE_PATCH,
        further_media_types=(JSON,),
        shape=ContactPatch,
        example={
            "email": "erika.mustermann@example.org",
            "mobileNumber": None,
            "address": {"street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg"},
        },
    ),
    result=Claim,
    example={
        **CLAIM_EXAMPLE,
        "email": "erika.mustermann@example.org",
        "mobileNumber": None,
        "address": {"street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg"},
        "updatedAt": "2026-03-10T11:20:00.000Z",
    },
    refusals=(InvalidRequest, ValidationError),
    is_addition=True,
)

WITHDRAW_CLAIM = Operation(
    operation_id="withdrawClaim",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=f"{_PATH}/withdraw",
    tag="Claims",
    summary="Withdraw a claim",
    description=(
        "For a claim that you no longer pursue. It becomes WITHDRAWN permanently and its "
        "workflow ends. The debtor's page no longer accepts payments or replies, but a payment "
        f"that still arrives is recorded. {_MESSAGES_STOP} No event is raised.\n\n"
        "Withdrawing the claim again returns it unchanged. For a claim that is COLLECTED or "
        "ARCHIVED the response is InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**_CLAIM_WITHOUT_NEXT_STEP, "status": "WITHDRAWN"},
    refusals=(InvalidState,),
    is_addition=True,
)

ARCHIVE_CLAIM = Operation(
    operation_id="archiveClaim",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=f"{_PATH}/archive",
    tag="Claims",
    summary="Archive a claim",
    description=(
        "Ends the workflow before its last step, without collecting the claim. The claim "
        "becomes ARCHIVED permanently, as if all its steps were done, but without the event "
        f"ARCHIVED, which reports a workflow that ran to its end. {_MESSAGES_STOP}\n\n"
        "Archiving the claim again returns it unchanged. For a claim that is COLLECTED or "
        "WITHDRAWN the response is InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**_CLAIM_WITHOUT_NEXT_STEP, "status": "ARCHIVED"},
    refusals=(InvalidState,),
    is_addition=True,
)

PAUSE_CLAIM = Operation(
    operation_id="pauseClaim",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=f"{_PATH}/pause",
    tag="Claims",
    summary="Pause a claim",
    description=(
        "Pauses the workflow until `until`, or until the claim is resumed. Steps that became "
        "due meanwhile run then, in order. The debtor's page stays open. Pausing again replaces "
        "the end and the reason; repeating the same pause changes nothing. Only a claim that is "
        "CREATED or IN_PROCESS can be paused. The body is optional. No event is raised."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=PauseRequest,
        example={"until": "2026-03-24T08:00:00Z", "reason": "In talks with the debtor"},
        is_required=False,
    ),
    result=Claim,
    example={**_CLAIM_WITHOUT_NEXT_STEP, "holds": [_PAUSE_EXAMPLE]},
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

RESUME_CLAIM = Operation(
    operation_id="resumeClaim",
    right=Right.CHANGE_CLAIMS,
    method="POST",
    path=f"{_PATH}/resume",
    tag="Claims",
    summary="Resume a claim",
    description=(
        "Ends the claim's pauses, including one that the debtor started. Other holds stay, and "
        "the workflow continues when the last hold ends. Resuming a claim that is not paused "
        "changes nothing. No event is raised."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**CLAIM_EXAMPLE, "updatedAt": "2026-03-12T09:00:00.000Z"},
    is_addition=True,
)


async def _change(call: ApiCall) -> Claim:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    patch, faults = parse_json_body(call.body)
    await change_contact_data(call.work, claim_id, patch, faults)
    return await load_claim_result(call, claim_id)


async def _pause(call: ApiCall) -> Claim:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    pause_request = parse_body(call.body, PauseRequest, _list_pause_faults)
    until = (
        parse_body_instant(pause_request.until, "/until")
        if pause_request.until is not None
        else None
    )
    await pause_claim(call.work, claim_id, until=until, reason=pause_request.reason)
    return await load_claim_result(call, claim_id)


def _list_pause_faults(pause_request: PauseRequest) -> Iterator[Fault]:
    yield from list_instant_faults(pause_request.until, "/until")


def _build_runner(
    use_case: Callable[[Work, int], Awaitable[None]],
) -> Callable[[ApiCall], Awaitable[Claim]]:
    """Return a function that runs a use case which needs only the claim's id."""

    async def run(call: ApiCall) -> Claim:
        claim_id = parse_claim_id(call.path["claim_id"])
        call.query.check()
        await use_case(call.work, claim_id)
        return await load_claim_result(call, claim_id)

    return run


ENDPOINTS = (
    ApiEndpoint(CHANGE_CLAIM, _change),
    ApiEndpoint(WITHDRAW_CLAIM, _build_runner(withdraw_claim)),
    ApiEndpoint(ARCHIVE_CLAIM, _build_runner(archive_claim)),
    ApiEndpoint(PAUSE_CLAIM, _pause),
    ApiEndpoint(RESUME_CLAIM, _build_runner(resume_claim)),
)
