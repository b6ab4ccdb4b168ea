"""Links between operations (OpenAPI `links`): where the id in an answer leads. Pure.

They follow from the paths, so that a new operation is linked without being named here: what is
created or listed at `/things` is read at `/things/{thing_id}`, and an answer with a `claimId` leads
to its claim.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dunwell.interfaces.api.operation import Operation

_READ_CLAIM = "readClaim"
_CLAIM_ID = "claim_id"

Link = dict[str, Any]


def list_links(operation: Operation, operations: Sequence[Operation]) -> dict[str, Link]:
    """The links of the operation's successful answer, by the name of the operation they lead to."""
    if not operation.has_envelope or operation.file_types:
        return {}
    links = dict(_list_reads(operation, operations))
    if _READ_CLAIM not in links and isinstance(_look_up(operation.example, "claimId"), int):
        given = {"merchant_id": _of_path("merchant_id"), _CLAIM_ID: _of_result("/claimId")}
        links[_READ_CLAIM] = _describe("The claim.", _READ_CLAIM, given)
    return links


def _list_reads(
    operation: Operation, operations: Sequence[Operation]
) -> Iterator[tuple[str, Link]]:
    pointer = _find_id(operation.example)
    if operation.method not in ("GET", "POST") or pointer is None:
        return
    shared = [each.name for each in operation.parameters if each.place == "path"]
    for each in operations:
        parameter = _find_member_parameter(operation.path, each)
        if parameter is not None:
            given = {name: _of_path(name) for name in shared} | {parameter: _of_result(pointer)}
            words = f"{each.summary}: what this answer's first id names."
            yield each.operation_id, _describe(words, each.operation_id, given)


def _find_member_parameter(collection: str, reading: Operation) -> str | None:
    """The parameter that names one thing of the collection, if `reading` reads such a thing."""
    parent, _, last = reading.path.rpartition("/")
    is_member = parent == collection and last.startswith("{") and reading.method == "GET"
    return last.strip("{}") if is_member else None


def _find_id(example: Any) -> str | None:
    """Where the first id of a result is, as a JSON pointer: in itself, a list, or what it wraps."""
    for pointer in ("/id", "/0/id", "/items/0/id", "/item/id"):
        if _look_up(example, *pointer.split("/")[1:]) is not None:
            return pointer
    return None


def _look_up(value: Any, *names: str) -> Any:
    for name in names:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _of_path(name: str) -> str:
    return f"$request.path.{name}"


def _of_result(pointer: str) -> str:
    return f"$response.body#/result{pointer}"


def _describe(words: str, operation_id: str, parameters: dict[str, str]) -> Link:
    return {"description": words, "operationId": operation_id, "parameters": parameters}
