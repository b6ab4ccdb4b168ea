"""`Idempotency-Key` (CONTRACT 1): a request that is repeated with its key takes effect once, and
each repetition gets the same response.

1. Lock the key until the transaction ends. If another request holds it, respond with 409 and
   Retry-After.
2. If a response is stored, return it to the same request, and 409 to a different one.
3. Run the operation in a savepoint, so that a refusal rolls back only its effects.
4. Store the response in the same transaction, unless a retry may have another result.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from dunwell.accounts.merchants.store import (
    StoredResponse,
    find_stored_response,
    save_response,
    try_lock_idempotency_key,
)
from dunwell.interfaces.api.answer import JSON, build_refusal_response
from dunwell.platform.database.database import Connection, savepoint
from dunwell.platform.errors import IdempotencyConflict, InvalidRequest, Refusal
from dunwell.platform.http.multipart import FormPart

# Responses with these statuses are final. A retry after another status may succeed.
_KEPT_STATUSES = frozenset({200, 409, 422})
_MAX_KEY_LENGTH = 255


def parse_idempotency_key(request: Request) -> str | None:
    """Return the request's key, if it has one. Raises InvalidRequest when it is malformed."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= _MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise InvalidRequest(
            f"Idempotency-Key must have 1 to {_MAX_KEY_LENGTH} printable ASCII characters. "
            "Use a UUID."
        )
    return key


def hash_request(request: Request, body: bytes, parts: list[FormPart]) -> bytes:
    """Return the hash of method, path and body. For a form, the body is the names and contents of
    its parts."""
    digest = hashlib.sha256()

    def add(piece: bytes) -> None:
        digest.update(len(piece).to_bytes(8))
        digest.update(piece)

    for piece in (request.method.encode(), request.scope["path"].encode(), body):
        add(piece)
    for part in parts:
        add(part.name.encode())
        add(part.content if part.file is None else part.file.read())
    return digest.digest()


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an Idempotency-Key. `now` is real time."""

    merchant_id: int
    key: str
    request_hash: bytes
    now: datetime


async def run_idempotently(
    tx: Connection, keyed: KeyedRequest, run: Callable[[], Awaitable[Response]]
) -> Response:
    """Return the stored response, or run the operation and store its response. `tx` is a
    transaction.

    Raises IdempotencyConflict, and refusals that are not stored.
    """
    if not await try_lock_idempotency_key(tx, keyed.merchant_id, keyed.key):
        raise IdempotencyConflict(
            "The first request with this Idempotency-Key is still running. Wait for the seconds in "
            "Retry-After, then repeat the request.",
            retry_after=1,
        )
    stored = await find_repeated_response(tx, keyed)
    if stored is not None:
        return stored
    response = await _run_in_savepoint(tx, run)
    response_to_store = StoredResponse(
        keyed.request_hash, response.status_code, bytes(response.body)
    )
    await save_response(tx, keyed.merchant_id, keyed.key, response_to_store, now=keyed.now)
    return response


async def find_repeated_response(tx: Connection, keyed: KeyedRequest) -> Response | None:
    """Return the response that the same request got before. Raises IdempotencyConflict if the key
    was used for another request."""
    stored = await find_stored_response(tx, keyed.merchant_id, keyed.key, keyed.now)
    if stored is None:
        return None
    if stored.request_hash != keyed.request_hash:
        raise IdempotencyConflict(
            "This Idempotency-Key was used for another request. Use a new key for a new request."
        )
    return Response(stored.body, stored.status, media_type=JSON)


async def _run_in_savepoint(tx: Connection, run: Callable[[], Awaitable[Response]]) -> Response:
    try:
        async with savepoint(tx):
            return await run()
    except Refusal as refusal:
        response = build_refusal_response(refusal)
        if response.status_code not in _KEPT_STATUSES:
            raise
        return response
