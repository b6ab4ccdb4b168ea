"""`/callbacks/payments/<provider>`: where providers say that something happened to a checkout.

A notice is never believed: the provider whose signature it bears is asked, and what it answers is
booked. Anything but 200 makes the provider send the notice again later.
"""

from collections.abc import Sequence
from typing import Any

from litestar import HttpMethod, Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from dunwell.errors import InvalidRequest, NotFound, PayloadTooLarge
from dunwell.kit.resources import Resources
from dunwell.payments.provider import Notice, Providers
from dunwell.payments.settle_payment import settle_payment
from dunwell.payments.store_requests import find_request_id

_MAX_BYTES = 64 * 1024
_DONE = b'{"error":null,"result":null}'

_AnyRequest = Request[Any, Any, Any]


def callback_routes(resources: Resources, providers: Providers) -> Sequence[HTTPRouteHandler]:
    """The handlers to mount; what they refuse the application answers in its envelope."""

    async def take_notice(request: _AnyRequest, provider: FromPath[str]) -> Response[bytes]:
        notice = await _read_notice(request, providers, provider)
        async with resources.database.connection() as connection:
            request_id = await find_request_id(
                connection, notice.merchant_id, provider, notice.provider_reference
            )
        if request_id is None:
            raise NotFound("There is no payment request for this checkout.")
        await settle_payment(resources, providers, notice.merchant_id, request_id)
        headers = {"Cache-Control": "no-store"}
        return Response(_DONE, status_code=200, media_type="application/json", headers=headers)

    route = HTTPRouteHandler(
        "/callbacks/payments/{provider:str}",
        http_method=HttpMethod.POST,
        status_code=200,
        include_in_schema=False,
        request_max_body_size=_MAX_BYTES,
    )
    return [route(take_notice)]


async def _read_notice(request: _AnyRequest, providers: Providers, name: str) -> Notice:
    provider = providers.get(name)
    if provider is None:
        raise NotFound("There is no such payment provider.")
    headers = {key.lower(): value for key, value in request.headers.items()}
    return provider.read_notice(headers, await _read_body(request))


async def _read_body(request: _AnyRequest) -> bytes:
    try:
        return await request.body()
    except HTTPException as error:
        if error.status_code == 413:
            message = f"A notice has at most {_MAX_BYTES} bytes."
            raise PayloadTooLarge(message, limit=_MAX_BYTES) from error
        raise InvalidRequest("The notice did not arrive whole. Send it again.") from error
