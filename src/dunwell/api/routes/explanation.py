"""Explain a claim: which rules chose its process, what it did, what comes next and why."""

from dunwell.api.call import Call
from dunwell.api.operation import Endpoint, Operation, Span
from dunwell.api.paths import read_claim_id
from dunwell.api.routes.parameters import CLAIM_ID, MERCHANT_ID
from dunwell.explanation.explain_claim import explain_claim
from dunwell.explanation.views import EXAMPLE, ClaimExplanation, write_plain
from dunwell.kit.wire import read_as_json

EXPLAIN_CLAIM = Operation(
    operation_id="explainClaim",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/explanation",
    tag="Claims",
    summary="Explain a claim",
    description=(
        "Why the claim stands where it stands: which assignment rules match and which do not, "
        "what became of each step of the present process, the next step, when and why, what holds "
        "it, and its next five contacts if nothing is paid. Codes are for programs; every "
        "`reason` is a sentence for a person."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=ClaimExplanation,
    example=read_as_json(EXAMPLE),
    is_addition=True,
)


async def _explain(call: Call) -> ClaimExplanation:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    return write_plain(await explain_claim(call.work, call.tools.resources.keys, claim_id))


ENDPOINTS = (Endpoint(EXPLAIN_CLAIM, _explain, Span.CONNECTION),)
