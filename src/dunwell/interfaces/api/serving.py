"""Serve one endpoint: check the access token, read the body, run the use case, respond."""

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from datetime import UTC, date, datetime
from email.utils import format_datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.credentials.credential import CredentialAccess
from dunwell.accounts.merchants.credentials.request_allowance import RateLimiter
from dunwell.accounts.merchants.credentials.store import PresentedToken, load_accesses
from dunwell.accounts.merchants.credentials.tokens import hash_secret
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.core.files.uploads import check_storage_room
from dunwell.interfaces.api.address import Query, parse_merchant_id
from dunwell.interfaces.api.answer import (
    build_crash_response,
    build_refusal_response,
    build_result_response,
)
from dunwell.interfaces.api.idempotency import (
    KeyedRequest,
    find_repeated_response,
    hash_request,
    parse_idempotency_key,
    run_idempotently,
)
from dunwell.interfaces.api.metrics import RequestMetrics
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, ApiServices, DatabaseScope
from dunwell.interfaces.api.reading import (
    FORM_BYTES,
    check_media_type,
    get_announced_bytes,
    has_body,
    read_form_parts,
)
from dunwell.platform.children.fair_queue import FairQueue, QueueLimits
from dunwell.platform.config import Settings
from dunwell.platform.errors import AuthenticationError, NotFound, Refusal
from dunwell.platform.http.multipart import MEDIA_TYPE, UPLOADS, SpooledContent
from dunwell.platform.http.requests import get_request_id, stream_body
from dunwell.platform.request_batcher import RequestBatcher
from dunwell.platform.text.json_text import check_encoding

# RFC 6750, 2.1.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)
# The maximum number of tokens that are looked up by one statement.
_MAX_TOKENS_PER_LOOKUP = 200


class RequestGate:
    """Authenticates requests and enforces the rate limits. A process reserves its share of a limit
    in blocks."""

    def __init__(self, services: ApiServices) -> None:
        self._clock, self._database = services.resources.clock, services.resources.database
        self._rate_limiter = RateLimiter()
        self._lookups = RequestBatcher(self._load_accesses, _MAX_TOKENS_PER_LOOKUP)

    async def admit(self, request: Request) -> tuple[CredentialAccess, Merchant]:
        """Return the request's credential and the merchant in its path.

        Requests that arrive together are looked up by one statement, which is sent after all of
        them have arrived. Each block of requests of the rate limit takes one more statement.

        Raises AuthenticationError; RateLimited; NotFound if the merchant does not exist or the
        credential has no access to it.
        """
        access = await self._get_access(request)
        await self._rate_limiter.spend(self._database, access, self._clock.now())
        return access, _get_merchant(request, access)

    async def admit_again(self, request: Request) -> tuple[CredentialAccess, Merchant]:
        """Check again a request that was admitted some time ago, without counting it. Raises
        AuthenticationError and NotFound."""
        access = await self._get_access(request)
        return access, _get_merchant(request, access)

    async def _get_access(self, request: Request) -> CredentialAccess:
        merchant_id_text = request.path_params["merchant_id"]
        presented = PresentedToken(
            hash_secret(_get_token(request)), parse_merchant_id(merchant_id_text)
        )
        access = await self._lookups.ask(None, presented)
        if access is None:
            raise AuthenticationError(
                "The access token is wrong, expired or revoked. Request a new one: POST /api/token."
            )
        return access

    async def _load_accesses(
        self, presented: Sequence[PresentedToken]
    ) -> Sequence[CredentialAccess | None]:
        async with self._database.connection() as connection:
            return await load_accesses(connection, presented, self._clock.now())


def _get_merchant(request: Request, access: CredentialAccess) -> Merchant:
    """Return the merchant in the path. Raises NotFound if it does not exist, or the credential has
    no access to it."""
    if access.merchant is None:
        merchant_id_text = request.path_params["merchant_id"]
        raise NotFound(
            f"There is no merchant {merchant_id_text[:64]} to which this credential has access. "
            "Check the merchant id in the path."
        )
    return access.merchant


def _get_token(request: Request) -> str:
    match = _BEARER.fullmatch(request.headers.get("authorization", "").strip())
    if match is None:
        raise AuthenticationError(
            "Send Authorization: Bearer <ACCESS_TOKEN>. Get a token with POST /api/token."
        )
    return match.group(1)


MAX_JSON_BYTES = 10 * 1024 * 1024
# Bodies up to this size, about 500 claims, are small.
_MAX_SMALL_BYTES = 256 * 1024
# The maximum number of large bodies in memory. With two, one is processed while the other waits for
# the database. With four of the largest, other requests waited two seconds.
_MAX_LARGE_BODIES = 2
# The number of large bodies from which a piece is read in one iteration of the event loop. Without
# this limit, pieces of up to 256 KiB each would leave no time for other requests.
_MAX_PIECES = 2
# One merchant may use both slots. Waiting bodies are in files, which have their own limits.
# Processing the largest body takes two or three seconds.
_LIMITS = QueueLimits(
    slots_per_key=_MAX_LARGE_BODIES, waiting_per_key=64, waiting=400, wait_seconds=20.0
)


class LargeBodies:
    """The large bodies of one process."""

    def __init__(self) -> None:
        self._queue = FairQueue(_MAX_LARGE_BODIES, _LIMITS)
        self._piece_slots = asyncio.Semaphore(_MAX_PIECES)

    async def read(
        self, request: Request, merchant_id: int, request_stack: AsyncExitStack
    ) -> bytes:
        """Read the whole body. A large one keeps its slot until `request_stack` is closed at the
        end of the request.

        Raises what `stream_body`, `SpooledContent.write` and `FairQueue.slot` raise.
        """
        chunks: list[bytes] = []
        size_bytes = 0
        with ExitStack() as spool_stack:
            content: SpooledContent | None = None
            async for chunk in stream_body(request, MAX_JSON_BYTES):
                size_bytes += len(chunk)
                chunks.append(chunk)
                if content is None and size_bytes > _MAX_SMALL_BYTES:
                    share = UPLOADS.get_share(merchant_id)
                    content = spool_stack.enter_context(closing(share.open()))
                if content is not None:
                    content.write(b"".join(chunks))
                    chunks.clear()
                    async with self._piece_slots:
                        await asyncio.sleep(0)
            if content is None:
                return b"".join(chunks)
            await request_stack.enter_async_context(self._queue.slot(merchant_id, size_bytes))
            return content.read()


# Access is checked again after a body was received, which may take minutes. A check that is more
# recent than this is not repeated, because a use case on a busy host also takes this long.
_ADMISSION_VALID_SECONDS = 1.0


class ApiServer:
    """Serves the endpoints of one application."""

    def __init__(self, services: ApiServices, request_metrics: RequestMetrics) -> None:
        self._services = services
        self._database = services.resources.database
        self._gate = RequestGate(services)
        self._bodies = LargeBodies()
        self._request_metrics = request_metrics
        self._retirement_headers = _list_retirement_headers(services.resources.settings)

    async def serve(self, endpoint: ApiEndpoint, request: Request) -> Response:
        """Respond to one request. Raises only when the request is cancelled."""
        started = time.perf_counter()
        operation = endpoint.operation
        async with AsyncExitStack() as request_stack:
            try:
                call = await self._receive(endpoint, request, request_stack)
                response = await self._perform(endpoint, request, call)
            except Refusal as refusal:
                response = build_refusal_response(refusal)
            except Exception as error:  # noqa: BLE001 - a crash is logged, and gets a response
                request_id = get_request_id(request.scope, self._services.resources)
                response = build_crash_response(error, request_id, operation.path)
        self._request_metrics.count(operation, response.status_code, time.perf_counter() - started)
        if operation.is_legacy:
            response.headers.update(self._retirement_headers)
        return response

    async def _receive(
        self, endpoint: ApiEndpoint, request: Request, request_stack: AsyncExitStack
    ) -> ApiCall:
        """Authenticate the request and read its body. `request_stack` is closed after the
        response.
        """
        checked_at = time.monotonic()
        access, merchant = await self._gate.admit(request)
        query = Query(request.scope["query_string"])
        call = ApiCall(self._services, access, merchant, path=request.path_params, query=query)
        call.admitted_at = checked_at
        check_right(call.actor, endpoint.operation.right)
        body = endpoint.operation.body
        if body is None:
            return call
        if body.media_type == MEDIA_TYPE:
            await self._check_storage(request, merchant.merchant_id)
            call.parts = await read_form_parts(request, merchant.merchant_id)
            for part in call.parts:
                if part.file is not None:
                    request_stack.callback(part.file.close)
        elif not body.is_required and not has_body(request):
            call.body = b"{}"
        else:
            check_media_type(request, body.media_type, *body.further_media_types)
            call.body = await self._bodies.read(request, merchant.merchant_id, request_stack)
            check_encoding(call.body)
        return call

    async def _check_storage(self, request: Request, merchant_id: int) -> None:
        """Refuse a file for which the merchant's storage has no room, before it is read.

        A request with an Idempotency-Key is read in any case, because it may be a repetition whose
        response is stored. Raises StorageFull.
        """
        if parse_idempotency_key(request) is None:
            size_bytes = max(1, get_announced_bytes(request) - FORM_BYTES)
            limit_bytes = self._services.resources.settings.merchant_storage_bytes
            await check_storage_room(self._database, merchant_id, size_bytes, limit_bytes)

    async def _perform(self, endpoint: ApiEndpoint, request: Request, call: ApiCall) -> Response:
        await self._admit_again(endpoint, request, call)
        key = parse_idempotency_key(request) if endpoint.operation.accepts_idempotency_key else None
        if key is not None:
            return await self._perform_once(endpoint, request, call, key)
        await self._prepare(endpoint, request, call)
        if endpoint.database_scope in {DatabaseScope.OWN, DatabaseScope.SHARED}:
            return await _run(endpoint, call)
        if endpoint.database_scope is DatabaseScope.CONNECTION:
            async with self._database.connection() as call.tx:
                return await _run(endpoint, call)
        async with self._database.transaction() as call.tx:
            return await _run(endpoint, call)

    async def _prepare(self, endpoint: ApiEndpoint, request: Request, call: ApiCall) -> None:
        """Run the endpoint's `prepare`. A refusal is kept until `_run` raises it, so that it can be
        stored as the response for the key."""
        if endpoint.prepare is None:
            return
        try:
            call.prepared = await endpoint.prepare(call)
        except Refusal as refusal:
            call.prepared = refusal
        await self._admit_again(endpoint, request, call)

    async def _admit_again(self, endpoint: ApiEndpoint, request: Request, call: ApiCall) -> None:
        """Refuse a request whose access ended while its body was read or prepared. A request
        without a body is not checked again."""
        checked_at = time.monotonic()
        is_recent = checked_at - call.admitted_at < _ADMISSION_VALID_SECONDS
        if endpoint.operation.body is None or is_recent:
            return
        call.access, call.merchant = await self._gate.admit_again(request)
        check_right(call.actor, endpoint.operation.right)
        call.admitted_at = checked_at

    async def _perform_once(
        self, endpoint: ApiEndpoint, request: Request, call: ApiCall, key: str
    ) -> Response:
        keyed = KeyedRequest(
            merchant_id=call.merchant.merchant_id,
            key=key,
            request_hash=hash_request(request, call.body, call.parts),
            now=self._services.resources.clock.now(),
        )
        if endpoint.prepare is not None:
            # Look for a stored response before preparing, so that a repetition does not prepare
            # again.
            async with self._database.connection() as connection:
                stored = await find_repeated_response(connection, keyed)
            if stored is not None:
                return stored
            await self._prepare(endpoint, request, call)
        async with self._database.transaction() as tx:
            call.tx = None if endpoint.database_scope is DatabaseScope.OWN else tx
            return await run_idempotently(tx, keyed, lambda: _run(endpoint, call))


async def _run(endpoint: ApiEndpoint, call: ApiCall) -> Response:
    if isinstance(call.prepared, Refusal):
        raise call.prepared
    result: Any = await endpoint.run(call)
    if isinstance(result, Refusal):
        return build_refusal_response(result)
    if isinstance(result, Response):
        return result
    return build_result_response(result)


def _list_retirement_headers(settings: Settings) -> dict[str, str]:
    """Return the headers of responses of legacy endpoints: `Deprecation` (RFC 9745) and `Sunset`
    (RFC 8594).

    Each header is sent once a setting names its day, and means the beginning of that day in UTC
    (spec, Versioning 5).
    """
    headers: dict[str, str] = {}
    if settings.scenarios_deprecated_on is not None:
        at = _get_start_of_day(settings.scenarios_deprecated_on)
        headers["Deprecation"] = f"@{int(at.timestamp())}"
    if settings.scenarios_retired_on is not None:
        headers["Sunset"] = format_datetime(
            _get_start_of_day(settings.scenarios_retired_on), usegmt=True
        )
    return headers


def _get_start_of_day(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
