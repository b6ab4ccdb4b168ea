"""Change a claim's contact data, withdraw, archive, pause and resume it."""

from collections.abc import Awaitable, Callable, Iterator

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.intake.submission import ContactPatch
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.interfaces.api.address import read_claim_id
from dunwell.interfaces.api.answer import JSON
from dunwell.interfaces.api.call import ApiCall
from dunwell.interfaces.api.operation import ApiEndpoint, Operation, RequestBody
from dunwell.interfaces.api.reading import read_document, read_shape
from dunwell.interfaces.api.routes.claim_reading import CLAIM_EXAMPLE, answer_claim
from dunwell.interfaces.api.routes.parameters import CLAIM_ID, MERCHANT_ID
from dunwell.interfaces.api.routes.payments import find_faulty_instant, read_given_instant
from dunwell.interfaces.api.schemas.claims import Claim, PauseRequest
from dunwell.platform.errors import Fault, InvalidRequest, InvalidState, ValidationError

_PATH = "/merchants/{merchant_id}/claims/{claim_id}"
_MERGE_PATCH = "application/merge-patch+json"
_ENDED = {**CLAIM_EXAMPLE, "nextStepAt": None, "updatedAt": "2026-03-10T11:20:00.000Z"}
_PAUSED = {
    "kind": "PAUSE",
    "since": "2026-03-10T11:20:00.000Z",
    "until": "2026-03-24T08:00:00.000Z",
    "by": "CREDENTIAL",
    "reason": "In talks with the debtor",
}
_STILL = (
    "What was planned and has not left the house is not sent. A message that is with its channel "
    "at this moment cannot be called back; its ESCALATED event comes all the same."
)

CHANGE_CLAIM = Operation(
    operation_id="changeClaim",
    right=Right.CHANGE_CLAIMS,
    method="PATCH",
    path=_PATH,
    tag="Claims",
    summary="Change contact data",
    description=(
        "A JSON merge patch (RFC 7396) of the debtor's data, taken in every state of the claim: "
        "what is given is changed, null clears, the rest stays; so within `address` and "
        "`customFields` too. What comes of it is checked as a new claim is, and every fault told "
        "at once. Messages that were planned go to the new address. What was claimed is not "
        "changed here: see items and fees."
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
        "For a claim you do not pursue any more. It is WITHDRAWN for good and its process ends; "
        "the debtor's page takes no payment and no answer any more. A payment that still comes is "
        f"recorded. {_STILL} It raises no event.\n\n"
        "Withdrawing it again answers the claim as it is. A claim that is COLLECTED or ARCHIVED is "
        "InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**_ENDED, "status": "WITHDRAWN"},
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
        "Ends the process before its last step, uncollected. The claim is ARCHIVED for good, as if "
        "all its steps were done, but without the event ARCHIVED, which tells of a process that "
        f"ran to its end. {_STILL}\n\n"
        "Archiving it again answers the claim as it is. A claim that is COLLECTED or WITHDRAWN is "
        "InvalidState."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**_ENDED, "status": "ARCHIVED"},
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
        "The process stands still until `until`, or until the claim is resumed; then what came due "
        "meanwhile runs, in order. The debtor's page stays open. Pausing again puts the new end "
        "and reason in the place of the old; the same pause again changes nothing. Only a claim "
        "that is CREATED or IN_PROCESS can be paused. The body may be left out. It raises no event."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=PauseRequest,
        example={"until": "2026-03-24T08:00:00Z", "reason": "In talks with the debtor"},
        is_required=False,
    ),
    result=Claim,
    example={**_ENDED, "holds": [_PAUSED]},
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
        "Ends the claim's pauses, a debtor's too; other holds stay, and the process goes on when "
        "the last of them falls. Resuming a claim that is not paused changes nothing. It raises no "
        "event."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=Claim,
    example={**CLAIM_EXAMPLE, "updatedAt": "2026-03-12T09:00:00.000Z"},
    is_addition=True,
)


async def _change(call: ApiCall) -> Claim:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    patch, faults = read_document(call.body)
    await change_contact_data(call.work, claim_id, patch, faults)
    return await answer_claim(call, claim_id)


async def _pause(call: ApiCall) -> Claim:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    given = read_shape(call.body, PauseRequest, _find_faulty_pause)
    until = read_given_instant(given.until, "/until") if given.until is not None else None
    await pause_claim(call.work, claim_id, until=until, reason=given.reason)
    return await answer_claim(call, claim_id)


def _find_faulty_pause(given: PauseRequest) -> Iterator[Fault]:
    yield from find_faulty_instant(given.until, "/until")


def _doing(
    use_case: Callable[[Work, int], Awaitable[None]],
) -> Callable[[ApiCall], Awaitable[Claim]]:
    """Return a function that runs a use case which needs only the claim's id."""

    async def run(call: ApiCall) -> Claim:
        claim_id = read_claim_id(call.path["claim_id"])
        call.query.check()
        await use_case(call.work, claim_id)
        return await answer_claim(call, claim_id)

    return run


ENDPOINTS = (
    ApiEndpoint(CHANGE_CLAIM, _change),
    ApiEndpoint(WITHDRAW_CLAIM, _doing(withdraw_claim)),
    ApiEndpoint(ARCHIVE_CLAIM, _doing(archive_claim)),
    ApiEndpoint(PAUSE_CLAIM, _pause),
    ApiEndpoint(RESUME_CLAIM, _doing(resume_claim)),
)
