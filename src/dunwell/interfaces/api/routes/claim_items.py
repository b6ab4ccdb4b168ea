"""Add items and fees to a claim, and delete an item with its fees."""

from typing import Any

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import list_date_faults
from dunwell.cases.intake.submission import ItemSubmission
from dunwell.cases.payments.change_items import (
    ItemAddition,
    NewItem,
    add_fee,
    add_item,
    delete_item,
)
from dunwell.interfaces.api.address import parse_claim_id, parse_item_id
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, Operation, RequestBody
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.claim_reading import build_claim_item
from dunwell.interfaces.api.routes.parameters import CLAIM_ID, ITEM_ID, MERCHANT_ID
from dunwell.interfaces.api.schemas import claims
from dunwell.platform.errors import InvalidRequest, InvalidState, ValidationError

_PATH = "/merchants/{merchant_id}/claims/{claim_id}"
_BALANCE_EXAMPLE: dict[str, Any] = {
    "claimId": 4711,
    "claimStatus": "IN_PROCESS",
    "total": "12490",
    "outstanding": "12490",
    "overpaid": "0",
}
_ITEM_RULES = (
    "The claim must be CREATED or IN_PROCESS, and can have at most 100 items. Planned messages "
    "state the new amount. No event is raised."
)

ADD_FEE = Operation(
    operation_id="addFee",
    right=Right.RECORD_MONEY,
    method="POST",
    path=f"{_PATH}/fees",
    tag="Claims",
    summary="Add a fee",
    description=(
        "Adds your own fee, apart from those of the workflow, for example at a checkpoint. "
        f"With `itemId` the fee belongs to a PRIMARY item and is deleted with it. {_ITEM_RULES}"
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=claims.FeeRequest,
        example={
            "type": "COLLECTION_FEE",
            "value": "2000",
            "itemId": 9001,
            "itemDate": "2026-03-10",
            "reference": "Address inquiry",
        },
    ),
    result=claims.AddedItem,
    example={
        "item": {
            "id": 9003,
            "reference": "Address inquiry",
            "type": "COLLECTION_FEE",
            "value": "2000",
            "outstanding": "2000",
            "itemDate": "2026-03-10",
            "dueDate": None,
            "itemId": 9001,
        },
        **_BALANCE_EXAMPLE,
    },
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

ADD_ITEM = Operation(
    operation_id="addItem",
    right=Right.RECORD_MONEY,
    method="POST",
    path=f"{_PATH}/items",
    tag="Claims",
    summary="Add an item",
    description=f"Adds an item, which is checked like the items of a new claim. {_ITEM_RULES}",
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=ItemSubmission,
        example={
            "reference": "INV-2026-0911",
            "type": "PRIMARY",
            "value": "2000",
            "itemDate": "2026-02-15",
            "dueDate": "2026-03-01",
        },
    ),
    result=claims.AddedItem,
    example={
        "item": {
            "id": 9003,
            "reference": "INV-2026-0911",
            "type": "PRIMARY",
            "value": "2000",
            "outstanding": "2000",
            "itemDate": "2026-02-15",
            "dueDate": "2026-03-01",
            "itemId": None,
        },
        **_BALANCE_EXAMPLE,
    },
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

DELETE_ITEM = Operation(
    operation_id="deleteItem",
    right=Right.RECORD_MONEY,
    method="DELETE",
    path=f"{_PATH}/items/{{item_id}}",
    tag="Claims",
    summary="Delete an item",
    description=(
        "Deletes an item or a fee, and the fees that belong to it (`itemId`). If all remaining "
        "items are paid, the claim is COLLECTED. No event is raised.\n\n"
        "The response is InvalidState if the claim is neither CREATED nor IN_PROCESS, if a "
        "payment was made on the item or on a fee that belongs to it (`PAID`: reverse the "
        "payment first), or if it is the last PRIMARY item (`LAST_PRIMARY`: withdraw the claim "
        "instead)."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, ITEM_ID),
    result=claims.DeletedItems,
    example={
        "deletedItemIds": [9002],
        "claimId": 4711,
        "claimStatus": "IN_PROCESS",
        "total": "10240",
        "outstanding": "10240",
        "overpaid": "0",
    },
    refusals=(InvalidState,),
    is_addition=True,
)


async def _add_fee(call: ApiCall) -> claims.AddedItem:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    submitted = parse_body(call.body, claims.FeeRequest)
    fee = NewItem(
        type=submitted.type,
        value_cents=int(submitted.value),
        reference=submitted.reference,
        item_on=submitted.item_date,
        fee_of=submitted.item_id,
    )
    return _build_added_item(claim_id, await add_fee(call.work, claim_id, fee))


async def _add_item(call: ApiCall) -> claims.AddedItem:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    submitted = parse_body(call.body, ItemSubmission, list_date_faults)
    item = NewItem(
        type=submitted.type,
        value_cents=int(submitted.value),
        reference=submitted.reference,
        item_on=submitted.item_date,
        due_on=submitted.due_date,
    )
    return _build_added_item(claim_id, await add_item(call.work, claim_id, item))


async def _delete_item(call: ApiCall) -> claims.DeletedItems:
    claim_id = parse_claim_id(call.path["claim_id"])
    item_id = parse_item_id(call.path["item_id"])
    call.query.check()
    deleted = await delete_item(call.work, claim_id, item_id)
    return claims.DeletedItems(
        deleted_item_ids=[each.item_id for each in deleted.items],
        claim_id=claim_id,
        claim_status=deleted.status.value,
        total=str(deleted.balance.total_cents),
        outstanding=str(deleted.balance.outstanding_cents),
        overpaid=str(deleted.balance.overpaid_cents),
    )


def _build_added_item(claim_id: int, added: ItemAddition) -> claims.AddedItem:
    return claims.AddedItem(
        item=build_claim_item(added.item),
        claim_id=claim_id,
        claim_status=added.status.value,
        total=str(added.balance.total_cents),
        outstanding=str(added.balance.outstanding_cents),
        overpaid=str(added.balance.overpaid_cents),
    )


ENDPOINTS = (
    ApiEndpoint(ADD_FEE, _add_fee),
    ApiEndpoint(ADD_ITEM, _add_item),
    ApiEndpoint(DELETE_ITEM, _delete_item),
)
