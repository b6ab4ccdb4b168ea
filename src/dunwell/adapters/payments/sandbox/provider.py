"""The sandbox payment provider, and the sender of its notifications.

It behaves like an outside provider, but stores its state in our database and moves no money. What
happens to a checkout is decided on its page. The worker sends due notifications in batches. One
that does not arrive is repeated every 30 seconds for a day.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from dunwell.adapters.payments.sandbox.checkout import (
    SandboxCheckout,
    State,
    read_notice,
    read_reference,
    render_notice,
    render_reference,
    sign_notice,
)
from dunwell.adapters.payments.sandbox.store import (
    DueCheckoutNotice,
    fail_notice,
    lease_notices,
    load_checkout,
    note_arrival,
    save_checkout,
)
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancelled,
    CheckoutExpired,
    CheckoutFailed,
    CheckoutNotice,
    CheckoutOpen,
    CheckoutPending,
    CheckoutRequest,
    CheckoutState,
    CheckoutSucceeded,
    PaymentProviderUnavailable,
)
from dunwell.platform.http.client import HttpClient, NoResponse, open_http_client
from dunwell.platform.resources import Resources

NAME = "sandbox"
# The card that pays every checkout.
_METHOD = "•••• 4242"
CHECKOUT_PATH = "/sandbox-provider/checkout"


class SandboxProvider:
    """A `PaymentProvider` whose only state is in the database."""

    name = NAME
    moves_money = False

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def start(self, request: CheckoutRequest) -> Checkout:
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            drawn = self._resources.ids.new(now)
            checkout_id = await save_checkout(connection, drawn, request, now)
        reference = render_reference(request.merchant_id, checkout_id)
        origin = self._resources.settings.public_url
        return Checkout(reference, f"{origin}{CHECKOUT_PATH}/{reference}")

    async def fetch(self, merchant_id: int, provider_reference: str) -> CheckoutState:
        checkout = await find_checkout(self._resources, provider_reference)
        if checkout is None or checkout.merchant_id != merchant_id:
            raise PaymentProviderUnavailable("The payment provider knows of no such checkout.")
        if checkout.is_expired(self._resources.clock.now()):
            return CheckoutExpired()
        return _describe(checkout)

    def read_notice(self, headers: Mapping[str, str], body: bytes) -> CheckoutNotice:
        return read_notice(self._resources.keys, headers, body, self._resources.clock.now())


async def find_checkout(resources: Resources, reference: str) -> SandboxCheckout | None:
    named = read_reference(reference)
    if named is None:
        return None
    async with resources.database.connection() as connection:
        return await load_checkout(connection, *named)


def _describe(checkout: SandboxCheckout) -> CheckoutState:
    if checkout.state is State.SUCCEEDED:
        assert checkout.transaction_id is not None
        assert checkout.decided_at is not None
        return CheckoutSucceeded(
            checkout.transaction_id,
            amount_cents=checkout.amount_cents,
            currency=checkout.currency,
            paid_at=checkout.decided_at,
            method=_METHOD,
        )
    return _OTHERS[checkout.state]


_OTHERS: dict[State, CheckoutState] = {
    State.OPEN: CheckoutOpen(),
    State.PENDING: CheckoutPending(),
    State.FAILED: CheckoutFailed(),
    State.CANCELLED: CheckoutCancelled(),
}


NOTICE_SECONDS = 0.5
_SET_SIZE = 20
_AGAIN_AFTER = timedelta(seconds=30)
_GIVEN_UP_AFTER = timedelta(days=1)

log = structlog.get_logger(__name__)


class CheckoutNoticeSender:
    """Sends due notifications with one HTTP client."""

    def __init__(self, resources: Resources, client: HttpClient) -> None:
        self._resources = resources
        self._client = client

    async def run_once(self) -> int:
        """Send one batch of due notifications and return how many were sent, whether they arrived
        or not."""
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            notices = await lease_notices(connection, now, _AGAIN_AFTER, _SET_SIZE)
        await asyncio.gather(*(self._send(notice) for notice in notices))
        return len(notices)

    async def _send(self, notice: DueCheckoutNotice) -> None:
        resources = self._resources
        now = resources.clock.now()
        body = render_notice(render_reference(notice.merchant_id, notice.checkout_id))
        headers = sign_notice(resources.keys, str(resources.ids.new(now)), body, now)
        answer = await self._client.post(notice.notice_url, body, headers)
        has_arrived = not isinstance(answer, NoResponse) and answer.status == 200
        async with resources.database.connection() as connection:
            if has_arrived:
                await note_arrival(connection, notice, now)
                return
            if now >= notice.decided_at + _GIVEN_UP_AFTER:
                await fail_notice(connection, notice)
        status = None if isinstance(answer, NoResponse) else answer.status
        log.warning("notice not taken", merchant_id=notice.merchant_id, status=status)


@asynccontextmanager
async def open_notice_sender(resources: Resources) -> AsyncIterator[CheckoutNoticeSender]:
    """Open a sender. Only the development profile may send to loopback addresses."""
    async with open_http_client(
        allow_loopback=resources.settings.is_development,
        user_agent="Dunwell sandbox payment provider",
    ) as client:
        yield CheckoutNoticeSender(resources, client)
