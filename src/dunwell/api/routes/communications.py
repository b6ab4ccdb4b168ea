"""List what was sent to a claim's debtor, and read a single communication."""

from typing import Any, cast

from dunwell.api.call import Call
from dunwell.api.operation import Endpoint, Operation, Span
from dunwell.api.paths import read_claim_id, read_reference
from dunwell.api.routes.parameters import CLAIM_ID, CURSOR, LIMIT, MERCHANT_ID, REFERENCE, read_page
from dunwell.api.schemas.communications import (
    Communication,
    CommunicationList,
    CommunicationStep,
    SentAttachment,
)
from dunwell.errors import ValidationError
from dunwell.kit.wire import write_instant
from dunwell.messages.communication_store import Communication as StoredCommunication
from dunwell.messages.read_communications import list_communications, read_communication

_SENT: dict[str, Any] = {
    "reference": "0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
    "claimId": 4711,
    "channel": "EMAIL",
    "state": "ACCEPTED",
    "heldBy": None,
    "failure": None,
    "actionStep": {"id": 1, "name": "First reminder"},
    "version": "v1.0",
    "plannedAt": "2026-03-02T09:00:00.000Z",
    "notBefore": "2026-03-02T09:00:00.000Z",
    "handedOverAt": "2026-03-02T09:00:00.400Z",
    "settledAt": "2026-03-02T09:00:00.900Z",
    "recipient": "erika@example.org",
    "language": "en",
    "subject": "Reminder INV-2026-0815",
    "text": (
        "Nordwind\n\nDear Erika Mustermann,\n\nplease pay €102.40:\n"
        "https://claims.example.com/q/__masked__link_token__\n\n--\nThis message is from:\n"
        "Nordwind Schuhe GmbH\nDeichstraße 1\n20459 Hamburg\n\nE-mail: hilfe@nordwind.example\n"
        "Phone: +49 40 1234560\n"
    ),
    # Cut short.
    "html": '<!DOCTYPE html>\n<html lang="en" dir="ltr">...</html>',
    "attachments": [],
}

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
    example={"items": [_SENT], "nextCursor": None},
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
    example=_SENT,
    refusals=(ValidationError,),
    is_addition=True,
)


async def _list(call: Call) -> CommunicationList:
    claim_id = read_claim_id(call.path["claim_id"])
    limit, cursor = read_page(call.query)
    call.query.check()
    page = await list_communications(call.work, claim_id, limit=limit, cursor=cursor)
    items = [_show(call, each) for each in page.communications]
    return CommunicationList(items, page.next_cursor)


async def _read(call: Call) -> Communication:
    reference = read_reference(call.path["reference"])
    call.query.check()
    return _show(call, await read_communication(call.work, reference))


def _show(call: Call, sent: StoredCommunication) -> Communication:
    content = sent.content
    return Communication(
        reference=str(sent.communication_id),
        claim_id=sent.claim_id,
        channel=sent.channel,
        state=cast("Any", sent.state),
        held_by=cast("Any", sent.held_by),
        failure=sent.failure,
        action_step=CommunicationStep(sent.step_id, sent.step_name),
        version=sent.version if call.merchant.switched_to_workflows else None,
        planned_at=write_instant(sent.planned_at),
        not_before=write_instant(sent.not_before),
        handed_over_at=write_instant(sent.handed_over_at),
        settled_at=write_instant(sent.settled_at),
        recipient=content.recipient if content else None,
        language=content.language if content else None,
        subject=content.subject if content else None,
        text=content.text if content else None,
        html=content.html if content else None,
        attachments=[
            SentAttachment(str(each.attachment_id), each.friendly_name)
            for each in (content.attachments if content else ())
        ],
    )


ENDPOINTS = (
    Endpoint(LIST_COMMUNICATIONS, _list, Span.CONNECTION),
    Endpoint(READ_COMMUNICATION, _read, Span.CONNECTION),
)
