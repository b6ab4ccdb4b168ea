"""`/callbacks/payments/<account>`: where payment providers notify us of changes to a checkout.

The content of a notification is never trusted: it only makes us fetch the state of the checkouts
that it names from the provider that signed it. Mandates are left to the worker. Unknown ids are
accepted, because a provider also reports payments that have nothing to do with us. Any status but
200 makes the provider repeat the notification later.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.cases.direct_debit.provider_records.store import make_named_mandates_due
from dunwell.cases.payments.provider import NotificationRejected, PaymentProviders
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.store import (
    list_requests_of_provider_ids,
    make_requests_due,
)
from dunwell.platform.database.attempts import count_attempt, load_attempts
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import get_request_id, read_body
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

_MAX_BYTES = 256 * 1024
# If a notification names more checkouts, the periodic check fetches all of them, because the
# provider waits for the answer.
_MAX_SETTLED_AT_ONCE = 3
# How often notifications may make us check one payment request in _CHECK_PERIOD. Then it waits for
# the periodic check.
_MAX_CHECKS = 10
_CHECK_PERIOD = timedelta(minutes=1)
_PURPOSE = "notifications of payments"
_DONE = b'{"error":null,"result":null}'


def callback_routes(resources: Resources, providers: PaymentProviders) -> list[Route]:
    """Return the routes to mount. The application renders the errors that they raise."""

    async def receive_notification(request: Request) -> Response:
        name = request.path_params["provider"]
        ids = await _parse_notification(request, resources, providers, name)
        async with resources.database.connection() as connection:
            payment_requests = await list_requests_of_provider_ids(connection, name, ids)
            await make_named_mandates_due(connection, name, ids, resources.clock.now())
        if len(payment_requests) > _MAX_SETTLED_AT_ONCE or not await _count_checks(
            resources, payment_requests
        ):
            async with resources.database.connection() as connection:
                await make_requests_due(connection, payment_requests, resources.clock.now())
        else:
            for merchant_id, request_id in payment_requests:
                await settle_payment(resources, providers, merchant_id, request_id)
        return Response(_DONE, media_type="application/json")

    return [Route("/callbacks/payments/{provider}", receive_notification, methods=["POST"])]


async def _count_checks(resources: Resources, payment_requests: Sequence[tuple[int, UUID]]) -> bool:
    """Count a check of each payment request. Return False if one of them was checked too often in
    the last minute.

    Some providers do not sign their notifications, so anyone who knows the id of a checkout could
    make us send any number of requests to the provider.
    """
    now = resources.clock.now()
    for _, request_id in payment_requests:
        subject = resources.keys.digest(_PURPOSE, request_id.bytes)
        async with resources.database.transaction() as tx:
            earlier = await load_attempts(tx, subject)
            if earlier is not None and now >= earlier.first_at + _CHECK_PERIOD:
                earlier = None
            if earlier is not None and earlier.count >= _MAX_CHECKS:
                return False
            await count_attempt(tx, subject, earlier, now)
    return True


async def _parse_notification(
    request: Request, resources: Resources, providers: PaymentProviders, name: str
) -> Sequence[str]:
    provider = providers.get(name)
    if provider is None:
        raise NotFound("There is no such payment provider.")
    body = await read_body(request, _MAX_BYTES)
    try:
        return provider.parse_notification(request.headers, body)
    except NotificationRejected:
        request_id = get_request_id(request.scope, resources)
        log_security_event("CALLBACK_FORGED", provider=name, request_id=request_id)
        raise
