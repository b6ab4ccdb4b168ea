"""No merchant sees another's data: every route is tried with another merchant's ids in every
position (PROMISES 16)."""

import itertools
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.interfaces.api.operation import Operation
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.isolation import (
    ABSENT,
    FREE,
    IDS,
    PLAIN,
    IsolationData,
    MerchantSide,
    Things,
    create_isolation_data,
    valid_body,
)
from tests.support.positions import Position, positions_of, put_at

_OPERATIONS = [endpoint.operation for endpoint in ENDPOINTS]
_CREATING = [
    each
    for each in _OPERATIONS
    if each.accepts_idempotency_key or each.operation_id == "changeClaim"
]
# Sorted so that no request prevents a later one.
_NOT_CREATING = sorted(
    (each for each in _OPERATIONS if each not in _CREATING),
    key=lambda each: ("GET", "PUT", "DELETE").index(each.method),
)
# Operations that change or end what later operations answer: each is tried with new merchants.
_NEEDS_NEW_MERCHANTS = {
    "changeClaim", "withdrawClaim", "archiveClaim", "resolveDispute", "approvePaymentModality",
    "refundPayment",
}  # fmt: skip
_TRIED_TOGETHER = [each for each in _CREATING if each.operation_id not in _NEEDS_NEW_MERCHANTS]
_TRIED_ALONE = [[each] for each in _CREATING if each.operation_id in _NEEDS_NEW_MERCHANTS]
_VARYING_HEADERS = {"x-request-id", "content-length"}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r'("(?:id|claimId|itemId|scenarioId)":)\d+')
_LINK_TOKEN = re.compile(r"/q/[\w-]+")
_CASE_NUMBER = re.compile(r'(?<="caseNumber":")[^"]+')


@dataclass(frozen=True)
class IsolationRequest:
    """A request that is valid except for the ids in `named`."""

    operation: Operation
    given: Things
    body: Any
    # The ids that a response may repeat.
    named: tuple[object, ...]


def _name_first(tried: Sequence[Operation]) -> str:
    return tried[0].operation_id


@pytest.fixture
async def isolation(
    resources: Resources, clock: MovableClock, is_switched: bool
) -> AsyncIterator[IsolationData]:
    async with AsyncExitStack() as closing:
        yield await create_isolation_data(closing, resources, clock, is_switched=is_switched)


@pytest.mark.parametrize("operation", _OPERATIONS, ids=lambda each: each.operation_id)
def test_every_position_of_an_id_is_declared(operation: Operation) -> None:
    for position in positions_of(operation.operation_id):
        last = position.name.removesuffix("/*").rpartition("/")[2]
        is_plain = last in PLAIN.get(position.place, ())
        is_id = (position.place, position.name) in IDS
        assert is_id != is_plain, (
            f"say in tests.support.isolation what {position} names: ID or PLAIN"
        )


@pytest.mark.parametrize("is_switched", [True, False], ids=["workflows", "scenarios"])
async def test_another_merchants_ids_get_the_same_bytes_as_unknown_ids(
    isolation: IsolationData,
) -> None:
    await isolation.load_their_cursors()
    before = await isolation.digest(isolation.own), await isolation.digest(isolation.theirs)

    leaks = [leak for each in _OPERATIONS async for leak in _find_leaks(isolation, each)]

    assert leaks == []
    assert (
        await isolation.digest(isolation.own),
        await isolation.digest(isolation.theirs),
    ) == before


async def _find_leaks(
    isolation: IsolationData, operation: Operation
) -> AsyncIterator[tuple[object, ...]]:
    for theirs, absent in _build_requests_with_wrong_ids(operation, isolation):
        answer = await _send(isolation.own, theirs)
        seen, expected = (
            _mask_requested_ids(answer, theirs),
            _mask_requested_ids(await _send(isolation.own, absent), absent),
        )
        if seen != expected or not _reveals_nothing(answer):
            yield operation.operation_id, theirs.named, seen, expected


@pytest.mark.parametrize("is_switched", [True])
@pytest.mark.parametrize("tried", [_TRIED_TOGETHER, *_TRIED_ALONE], ids=_name_first)
async def test_names_that_another_merchant_uses_are_free(
    isolation: IsolationData, tried: Sequence[Operation]
) -> None:
    before = await isolation.digest(isolation.theirs)

    bad = [each for operation in tried async for each in _find_taken_names(isolation, operation)]

    assert bad == []
    assert await isolation.digest(isolation.theirs) == before


async def _find_taken_names(
    isolation: IsolationData, operation: Operation
) -> AsyncIterator[tuple[object, ...]]:
    for theirs, absent in _build_requests_with_used_names(operation, isolation):
        answer = await _send(isolation.own, theirs)
        seen, expected = (
            _mask_all_ids(answer, theirs),
            _mask_all_ids(await _send(isolation.twin, absent), absent),
        )
        if seen != expected or not _is_success(answer):
            yield operation.operation_id, theirs.named, seen, expected
    # Both keys are free again for the next operation; the other merchant's is not.
    await isolation.forget_keys()


@pytest.mark.parametrize("is_switched", [True])
async def test_the_requests_are_valid_with_the_merchants_own_ids(isolation: IsolationData) -> None:
    given = {**isolation.own.things, "key": None}
    for operation in _NOT_CREATING:
        body = valid_body(operation, isolation.own.things)
        answer = await isolation.own.send(operation, given, body)
        assert _is_success(answer), (operation.operation_id, answer.text)


@pytest.mark.parametrize("is_switched", [True])
async def test_every_operation_with_a_key_has_one_effect(isolation: IsolationData) -> None:
    for operation in _OPERATIONS:
        if not operation.accepts_idempotency_key:
            continue
        given = {**isolation.own.things, "key": operation.operation_id}
        body = valid_body(operation, isolation.own.things)
        first = await isolation.own.send(operation, given, body)
        before = await isolation.digest(isolation.own)
        again = await isolation.own.send(operation, given, body)
        assert again.content == first.content, operation.operation_id
        assert await isolation.digest(isolation.own) == before, operation.operation_id


async def _send(side: MerchantSide, request: IsolationRequest) -> httpx.Response:
    return await side.send(request.operation, request.given, request.body)


def _is_success(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and b'"error":{' not in answer.content


def _reveals_nothing(answer: httpx.Response) -> bool:
    """Return whether a response is a refusal, an empty list, or a list of refused claims."""
    if answer.status_code in (404, 422):
        return True
    result = answer.json()["result"]
    if isinstance(result, dict):
        return bool(result == {"items": [], "nextCursor": None})
    return [each["error"]["type"] for each in result] == ["UnknownTicket"]


def _build_requests_with_wrong_ids(
    operation: Operation, isolation: IsolationData
) -> Iterator[tuple[IsolationRequest, IsolationRequest]]:
    """Yield each request with another merchant's ids, together with the same request with unknown
    ids."""
    names = [each.name for each in positions_of(operation.operation_id) if each.place == "path"]
    for chosen in itertools.product((False, True), repeat=len(names)):
        changed = [name for name, is_changed in zip(names, chosen, strict=True) if is_changed]
        if changed:
            yield (
                _build_request_with_path_ids(
                    operation, isolation, changed, isolation.theirs.things
                ),
                _build_request_with_path_ids(operation, isolation, changed, ABSENT),
            )
    for position in _list_positions_outside_path(operation, is_free=False):
        yield (
            _build_request(operation, isolation.own, position, isolation.theirs.things),
            _build_request(operation, isolation.own, position, ABSENT),
        )


def _build_requests_with_used_names(
    operation: Operation, isolation: IsolationData
) -> Iterator[tuple[IsolationRequest, IsolationRequest]]:
    for position in _list_positions_outside_path(operation, is_free=True):
        yield (
            _build_request(operation, isolation.own, position, isolation.theirs.things),
            _build_request(operation, isolation.twin, position, ABSENT),
        )


def _list_positions_outside_path(operation: Operation, *, is_free: bool) -> Iterator[Position]:
    """Yield the positions outside the path. A filter by the merchant's own name is not free."""
    for position in positions_of(operation.operation_id):
        kind = IDS.get((position.place, position.name))
        if kind is None or position.place == "path":
            continue
        if (kind in FREE and position.place != "query") == is_free:
            yield position


def _build_request_with_path_ids(
    operation: Operation, isolation: IsolationData, names: list[str], other: Things
) -> IsolationRequest:
    changed = {name: other[name] for name in names}
    given = {**isolation.own.things, **changed, "key": None}
    return IsolationRequest(
        operation, given, valid_body(operation, isolation.own.things), tuple(changed.values())
    )


def _build_request(
    operation: Operation, side: MerchantSide, position: Position, other: Things
) -> IsolationRequest:
    given = {**side.things, "key": None, "fresh": f"{side.things['fresh']} {position.name}"}
    body = valid_body(operation, given)
    kind = IDS[position.place, position.name]
    value = other[kind] if kind != "cursor" else _cursor_of(operation, other)
    if position.place == "query":
        given["query"] = {position.name: value}
    elif position.place == "header":
        given["key"] = value
    else:
        body = put_at(body, position.name, value)
    return IsolationRequest(operation, given, body, (value,))


def _cursor_of(operation: Operation, other: Things) -> str:
    cursor: str = (
        other["cursors"][operation.operation_id] if "cursors" in other else other["cursor"]
    )
    return cursor


def _mask_requested_ids(answer: httpx.Response, request: IsolationRequest) -> tuple[object, ...]:
    """Return status, headers and body, with the requested ids masked."""
    text = answer.text
    for value in request.named:
        text = re.sub(rf"\b{re.escape(str(value))}\b", "ID", text)
    headers = {
        name: value for name, value in answer.headers.items() if name not in _VARYING_HEADERS
    }
    return answer.status_code, headers, text


def _mask_all_ids(answer: httpx.Response, request: IsolationRequest) -> tuple[object, ...]:
    """Return the same with every id and the names that merchants choose masked."""
    status, headers, text = _mask_requested_ids(answer, request)
    text = _LINK_TOKEN.sub("LINK", _NUMBER.sub(r"\1ID", _UUID.sub("ID", str(text))))
    text = _CASE_NUMBER.sub("CASE", text)
    return status, headers, re.sub(r"\b(own|twin)-", "", text)


@pytest.mark.parametrize("is_switched", [True])
async def test_lists_contain_only_the_merchants_own_entries(isolation: IsolationData) -> None:
    seen = []
    for side in (isolation.own, isolation.theirs):
        claims = (await side.client.get("/claims")).json()["result"]["items"]
        events = (await side.client.get("/events")).json()["result"]["items"]
        workflows = (await side.client.get("/workflows-meta")).json()["result"]
        scenarios = (await side.client.get("/scenarios")).json()["result"]
        assert {each["claim"]["merchantId"] for each in events} == {side.client.merchant_id}
        listed = (claims, workflows, scenarios)
        seen.append([{each["id"] for each in part} for part in listed])

    assert [len(ids) for ids in seen[0]] == [2, 1, 1]
    assert all(own.isdisjoint(theirs) for own, theirs in zip(*seen, strict=True))
