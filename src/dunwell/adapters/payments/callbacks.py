"""`/callbacks/payments/<provider>`: where payment providers notify us of changes to a checkout.

The content of a notification is never trusted: it only makes us fetch the checkout's state from the
provider that signed it. Any status but 200 makes the provider repeat the notification later.
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
    """Return the routes to mount. The application renders the errors that they raise."""

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
