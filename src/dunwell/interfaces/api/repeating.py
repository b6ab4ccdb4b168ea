"""`Idempotency-Key` (CONTRACT 1): one key, one effect, one answer.

1. hold the key until the transaction ends; held by another: 409 with Retry-After
2. an answer is kept: the same request gets it again, another one 409
3. run the operation behind a savepoint, so that a refusal undoes its effect alone
4. keep the answer in the same transaction, unless it is of a kind that may change by itself
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
from dunwell.interfaces.api.answer import JSON, answer_refusal
from dunwell.platform.database.database import Connection, savepoint
from dunwell.platform.errors import IdempotencyConflict, InvalidRequest, Refusal
from dunwell.platform.http.multipart import FormPart

# Refusals by these statuses are the request's for good; others may turn out well next time.
_KEPT_STATUSES = frozenset({200, 409, 422})
_LONGEST_KEY = 255


def read_key(request: Request) -> str | None:
    """The request's key. Raises InvalidRequest when it is malformed."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= _LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise InvalidRequest(
            f"Idempotency-Key must be 1 to {_LONGEST_KEY} printable ASCII characters; a UUID does."
        )
    return key


def hash_request(request: Request, body: bytes, parts: list[FormPart]) -> bytes:
    """Over method, path and body; of a form over the names and contents of its parts."""
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
    """A request under its key. `now` is real time."""

    merchant_id: int
    key: str
    request_hash: bytes
    now: datetime


async def answer_once(
    tx: Connection, keyed: KeyedRequest, run: Callable[[], Awaitable[Response]]
) -> Response:
    """The kept answer, or what `run` answers, kept. `tx` is a transaction.

    Raises IdempotencyConflict, and refusals that are not kept.
    """
    if not await try_lock_idempotency_key(tx, keyed.merchant_id, keyed.key):
        raise IdempotencyConflict(
            "The first request with this Idempotency-Key is still running. Wait as long as "
            "Retry-After says and send the same again.",
            retry_after=1,
        )
    kept = await find_kept_answer(tx, keyed)
    if kept is not None:
        return kept
    answer = await _run_behind_savepoint(tx, run)
    made = StoredResponse(keyed.request_hash, answer.status_code, bytes(answer.body))
    await save_response(tx, keyed.merchant_id, keyed.key, made, now=keyed.now)
    return answer


async def find_kept_answer(tx: Connection, keyed: KeyedRequest) -> Response | None:
    """The answer the same request got. Raises IdempotencyConflict when it was another request."""
    kept = await find_stored_response(tx, keyed.merchant_id, keyed.key, keyed.now)
    if kept is None:
        return None
    if kept.request_hash != keyed.request_hash:
        raise IdempotencyConflict(
            "This Idempotency-Key was used for another request. Use a new key for a new request."
        )
    return Response(kept.body, kept.status, media_type=JSON)


async def _run_behind_savepoint(tx: Connection, run: Callable[[], Awaitable[Response]]) -> Response:
    try:
        async with savepoint(tx):
            return await run()
    except Refusal as refusal:
        answer = answer_refusal(refusal)
        if answer.status_code not in _KEPT_STATUSES:
            raise
        return answer
