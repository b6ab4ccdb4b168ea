"""List what was sent to a claim's debtor, and read a single communication."""

from dunwell.contact.messages.communications.communication import (
    EXAMPLE,
    Communication,
    CommunicationList,
)
from dunwell.contact.messages.list_communications import (
    get_communication,
    list_claim_communications,
)
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Endpoint, Operation, Span
from dunwell.interfaces.api.paths import read_claim_id, read_reference
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    REFERENCE,
    read_page,
)
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import read_as_json

LIST_COMMUNICATIONS = Operation(
    operation_id="listCommunications",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/communications",
    tag="Communications",
    summary="List communications",
    description=(
        "What the claim's debtor was sent and what is planned next, newest first: when, where, "
        "by which step, what became of it, and its content with the link's secret part and the "
        "code masked."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=CommunicationList,
    example=read_as_json(CommunicationList([EXAMPLE], None)),
    refusals=(ValidationError,),
    is_addition=True,
)

READ_COMMUNICATION = Operation(
    operation_id="readCommunication",
    method="GET",
    path="/merchants/{merchant_id}/communications/{reference}",
    tag="Communications",
    summary="Read a communication",
    description=(
        "The communication an ESCALATED event names. A letter is answered as text; its printed "
        "sheet, which bears the debtor's link and code, is not served."
    ),
    parameters=(MERCHANT_ID, REFERENCE),
    result=Communication,
    example=read_as_json(EXAMPLE),
    refusals=(ValidationError,),
    is_addition=True,
)


async def _list(call: Call) -> CommunicationList:
    claim_id = read_claim_id(call.path["claim_id"])
    limit, cursor = read_page(call.query)
    call.query.check()
    page = await list_claim_communications(call.work, claim_id, limit=limit, cursor=cursor)
    return CommunicationList(list(page.items), page.next_cursor)


async def _read(call: Call) -> Communication:
    reference = read_reference(call.path["reference"])
    call.query.check()
    return await get_communication(call.work, reference)


ENDPOINTS = (
    Endpoint(LIST_COMMUNICATIONS, _list, Span.CONNECTION),
    Endpoint(READ_COMMUNICATION, _read, Span.CONNECTION),
)
