"""The sandbox payment provider.

It behaves like an outside provider, but stores its state in our database and moves no money. What
happens to a checkout is decided on its page. `notice_sender` sends the notifications.
"""

from collections.abc import Mapping

from dunwell.adapters.payments.sandbox.checkout import (
    SandboxCheckout,
    SandboxCheckoutState,
    read_notice,
    read_reference,
    render_reference,
)
from dunwell.adapters.payments.sandbox.store import (
    load_checkout,
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
            new_id = self._resources.ids.new(now)
            checkout_id = await save_checkout(connection, new_id, request, now)
        reference = render_reference(request.merchant_id, checkout_id)
        origin = self._resources.settings.public_url
        return Checkout(reference, f"{origin}{CHECKOUT_PATH}/{reference}")

    async def fetch(self, merchant_id: int, provider_reference: str) -> CheckoutState:
        checkout = await find_checkout(self._resources, provider_reference)
        if checkout is None or checkout.merchant_id != merchant_id:
            raise PaymentProviderUnavailable("The payment provider does not know this checkout.")
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
    if checkout.state is SandboxCheckoutState.SUCCEEDED:
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


_OTHERS: dict[SandboxCheckoutState, CheckoutState] = {
    SandboxCheckoutState.OPEN: CheckoutOpen(),
    SandboxCheckoutState.PENDING: CheckoutPending(),
    SandboxCheckoutState.FAILED: CheckoutFailed(),
    SandboxCheckoutState.CANCELLED: CheckoutCancelled(),
}
