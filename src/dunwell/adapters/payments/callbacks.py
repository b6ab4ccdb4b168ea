"""`/callbacks/payments/<provider>`: where providers say that something happened to a checkout.

A notice is never believed: the provider whose signature it bears is asked, and what it answers is
booked. Anything but 200 makes the provider send the notice again later.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.cases.payments.provider import CheckoutNotice, CheckoutNoticeRejected, PaymentProviders
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.store import find_request_id
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import read_body, request_id_of
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

_MAX_BYTES = 64 * 1024
_DONE = b'{"error":null,"result":null}'


def callback_routes(resources: Resources, providers: PaymentProviders) -> list[Route]:
    """The routes to mount; what they refuse the application answers in its envelope."""

    async def take_notice(request: Request) -> Response:
        name = request.path_params["provider"]
        notice = await _read_notice(request, resources, providers, name)
        async with resources.database.connection() as connection:
            request_id = await find_request_id(
                connection, notice.merchant_id, name, notice.provider_reference
            )
        if request_id is None:
            raise NotFound("There is no payment request for this checkout.")
        await settle_payment(resources, providers, notice.merchant_id, request_id)
        return Response(_DONE, media_type="application/json")

    return [Route("/callbacks/payments/{provider}", take_notice, methods=["POST"])]


async def _read_notice(
    request: Request, resources: Resources, providers: PaymentProviders, name: str
) -> CheckoutNotice:
    provider = providers.get(name)
    if provider is None:
        raise NotFound("There is no such payment provider.")
    body = await read_body(request, _MAX_BYTES)
    try:
        return provider.read_notice(request.headers, body)
    except CheckoutNoticeRejected:
        request_id = request_id_of(request.scope, resources)
        log_security_event("CALLBACK_FORGED", provider=name, request_id=request_id)
        raise
