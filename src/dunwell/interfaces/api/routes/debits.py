"""List and read the mandates for direct debits, and list their collections."""

from dataclasses import replace
from typing import Any, get_args
from uuid import UUID

from dunwell.cases.direct_debit.debit_values import DIRECT_DEBIT, CollectionState
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    MandateFilter,
    get_mandate,
    list_all_mandates,
    list_collections,
    list_collections_of_mandate,
    list_mandates_of_claim,
)
from dunwell.cases.direct_debit.listing.store import ListedCollection, ListedMandate
from dunwell.interfaces.api.address import parse_claim_id, parse_mandate_id
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, DatabaseScope, Operation
from dunwell.interfaces.api.routes.parameters import (
    ACCOUNT,
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MANDATE_ID,
    MERCHANT_ID,
    MODALITY_ID,
    PAGES,
    SINCE,
    UNTIL,
    build_choice_parameter,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.debits import (
    DebitCollection,
    DebitCollectionList,
    DebitMandate,
    DebitMandateList,
    MandateStateName,
)
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import render_instant

_MANDATE_STATES = get_args(MandateStateName)
_PATH = "/merchants/{merchant_id}/claims/{claim_id}/mandates"
_MANDATE: dict[str, Any] = {
    "id": MANDATE_ID.example,
    "claimId": 4711,
    "referenceNumber": "INV-2026-0815",
    "modalityId": MODALITY_ID.example,
    "providerName": "DIRECT_DEBIT",
    "providerMandateId": None,
    "reference": "4711-60718293-1",
    "creditorId": "DE98ZZZ09999999999",
    "account": "DE •••• 2051",
    "state": "ACTIVE",
    "text": "I authorise Nordwind.",
    "language": "en",
    "signedAt": "2026-03-13T09:00:00.000Z",
    "expiresOn": "2029-03-13",
    "endedAt": None,
    "endedReason": None,
}
_COLLECTION: dict[str, Any] = {
    "id": "01955d02-1100-7c33-8e4f-a1b2c3d4e5f6",
    "claimId": 4711,
    "referenceNumber": "INV-2026-0815",
    "mandateId": MANDATE_ID.example,
    "modalityId": MODALITY_ID.example,
    "providerName": "DIRECT_DEBIT",
    "providerPaymentId": None,
    "instalment": 1,
    "dueDate": "2026-03-30",
    "collectionDate": "2026-03-30",
    "amount": 3497,
    "currency": "EUR",
    "state": "PLANNED",
    "endToEndId": "01955D0211007C338E4FA1B2C3D4E5F6",
    "paymentId": None,
    "returnReason": None,
    "cancelReason": None,
    "notifiedAt": None,
}
# It has no example, because the one of byBank excludes every account.
_ACCOUNT = replace(
    ACCOUNT,
    example=None,
    description="Only those that this account at a payment provider collects.",
)
_BY_BANK = build_flag_parameter(
    "byBank",
    "True: only what your bank collects. False: only what a payment provider collects.",
    example=True,
)

FIND_MANDATES = Operation(
    operation_id="findMandates",
    method="GET",
    path="/merchants/{merchant_id}/mandates",
    tag="Direct debits",
    summary="Find mandates",
    description=(
        "The mandates for direct debits of all claims, newest first, that match all given "
        "filters: those of your bank and those at a payment provider (`providerName`). `since` and "
        f"`until` refer to `signedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter(
            "state", ("ACTIVE", *(each for each in _MANDATE_STATES if each != "ACTIVE")),
            "Only mandates in this state.",
        ),
        _ACCOUNT,
        _BY_BANK,
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=DebitMandateList,
    example={"items": [_MANDATE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

LIST_MANDATES = Operation(
    operation_id="listMandates",
    method="GET",
    path=_PATH,
    tag="Direct debits",
    summary="List mandates",
    description=(
        "The mandates that were given for the claim's payment plans, newest first. A plan has at "
        "most one that is valid."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=DebitMandateList,
    example={"items": [_MANDATE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

READ_MANDATE = Operation(
    operation_id="readMandate",
    method="GET",
    path=_PATH + "/{mandate_id}",
    tag="Direct debits",
    summary="Read a mandate",
    description="The mandate that a MANDATE_CHANGED event names, in the form of the list.",
    parameters=(MERCHANT_ID, CLAIM_ID, MANDATE_ID),
    result=DebitMandate,
    example=_MANDATE,
    refusals=(ValidationError,),
    is_addition=True,
)

FIND_COLLECTIONS = Operation(
    operation_id="findCollections",
    method="GET",
    path="/merchants/{merchant_id}/collections",
    tag="Direct debits",
    summary="Find collections",
    description=(
        "The direct debits of all claims, latest planned first, that match the filter, collected "
        "by your bank or by a payment provider (`providerName`). `state=RETURNED` finds those that "
        f"were rejected or returned. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter("state", CollectionState, "Only collections in this state."),
        _ACCOUNT,
        _BY_BANK,
        LIMIT,
        CURSOR,
    ),
    result=DebitCollectionList,
    example={"items": [_COLLECTION], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

LIST_COLLECTIONS = Operation(
    operation_id="listCollections",
    method="GET",
    path=_PATH + "/{mandate_id}/collections",
    tag="Direct debits",
    summary="List collections",
    description=(
        "The direct debits that are made with the mandate, one for each instalment, latest "
        "planned first."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, MANDATE_ID, CURSOR, LIMIT),
    result=DebitCollectionList,
    example={"items": [_COLLECTION], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find_mandates(call: ApiCall) -> DebitMandateList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = MandateFilter(
        state=query.choice("state", _MANDATE_STATES),
        account=query.text("account"),
        by_bank=parse_flag(query, "byBank"),
        since=query.instant("since"),
        until=query.instant("until"),
    )
    query.check()
    page = await list_all_mandates(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return DebitMandateList([build_debit_mandate(each) for each in page.items], page.next_cursor)


async def _list_mandates(call: ApiCall) -> DebitMandateList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_mandates_of_claim(call.work, claim_id, limit=limit, cursor=cursor)
    return DebitMandateList([build_debit_mandate(each) for each in page.items], page.next_cursor)


async def _read_mandate(call: ApiCall) -> DebitMandate:
    claim_id, mandate_id = _parse_path(call)
    call.query.check()
    return build_debit_mandate(await get_mandate(call.work, claim_id, mandate_id))


async def _find_collections(call: ApiCall) -> DebitCollectionList:
    query = call.query
    limit, cursor = parse_page(query)
    state = query.choice("state", tuple(CollectionState))
    account, by_bank = query.text("account"), parse_flag(query, "byBank")
    query.check()
    wanted = CollectionFilter(
        state=CollectionState(state) if state else None, account=account, by_bank=by_bank
    )
    page = await list_collections(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return DebitCollectionList(
        [build_debit_collection(each) for each in page.items], page.next_cursor
    )


async def _list_collections(call: ApiCall) -> DebitCollectionList:
    claim_id, mandate_id = _parse_path(call)
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_collections_of_mandate(
        call.work, claim_id, mandate_id, limit=limit, cursor=cursor
    )
    return DebitCollectionList(
        [build_debit_collection(each) for each in page.items], page.next_cursor
    )


def _parse_path(call: ApiCall) -> tuple[int, UUID]:
    return parse_claim_id(call.path["claim_id"]), parse_mandate_id(call.path["mandate_id"])


def build_debit_mandate(listed: ListedMandate) -> DebitMandate:
    """Convert a mandate to its wire type."""
    mandate = listed.mandate
    state: Any = mandate.state.value
    reason: Any = None if mandate.ended_reason is None else mandate.ended_reason.value
    return DebitMandate(
        id=str(mandate.mandate_id),
        claim_id=mandate.claim_id,
        reference_number=listed.reference_number,
        modality_id=str(mandate.modality_id),
        provider_name=mandate.provider_name or DIRECT_DEBIT,
        provider_mandate_id=listed.provider_mandate_id,
        reference=mandate.reference,
        creditor_id=mandate.creditor_id,
        account=mandate.account_shown,
        state=state,
        text=mandate.text,
        language=mandate.language,
        signed_at=render_instant(mandate.signed_at),
        expires_on=mandate.expires_on.isoformat(),
        ended_at=render_instant(mandate.ended_at),
        ended_reason=reason,
    )


def build_debit_collection(listed: ListedCollection) -> DebitCollection:
    """Convert a collection to its wire type."""
    collection = listed.collection
    state: Any = collection.state.value
    reason: Any = None if collection.cancel_reason is None else collection.cancel_reason.value
    return DebitCollection(
        id=str(collection.collection_id),
        claim_id=collection.claim_id,
        reference_number=listed.reference_number,
        mandate_id=str(collection.mandate_id),
        modality_id=str(collection.modality_id),
        provider_name=listed.provider_name or DIRECT_DEBIT,
        provider_payment_id=listed.provider_payment_id,
        instalment=collection.instalment,
        due_date=collection.due_on.isoformat(),
        collection_date=collection.collected_on.isoformat(),
        amount=collection.amount_cents,
        currency=collection.currency,
        state=state,
        end_to_end_id=collection.end_to_end_id,
        payment_id=None if collection.payment_id is None else str(collection.payment_id),
        return_reason=collection.return_reason,
        cancel_reason=reason,
        notified_at=render_instant(collection.notified_at),
    )


ENDPOINTS = (
    ApiEndpoint(FIND_MANDATES, _find_mandates, DatabaseScope.CONNECTION),
    ApiEndpoint(LIST_MANDATES, _list_mandates, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_MANDATE, _read_mandate, DatabaseScope.CONNECTION),
    ApiEndpoint(FIND_COLLECTIONS, _find_collections, DatabaseScope.CONNECTION),
    ApiEndpoint(LIST_COLLECTIONS, _list_collections, DatabaseScope.CONNECTION),
)
