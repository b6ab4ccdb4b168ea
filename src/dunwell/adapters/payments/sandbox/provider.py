"""The sandbox provider as the port knows it: the twin of the providers outside, with its state in
our database. It moves no money; what becomes of a checkout is decided on its page.
"""

from collections.abc import Mapping

from dunwell.adapters.payments.sandbox.checkout import (
    SandboxCheckout,
    State,
    read_reference,
    render_reference,
)
from dunwell.adapters.payments.sandbox.signing import read_notice
from dunwell.adapters.payments.sandbox.store import load_checkout, save_checkout
from dunwell.cases.payments.provider import (
    Cancelled,
    Checkout,
    CheckoutNotice,
    CheckoutRequest,
    CheckoutState,
    Expired,
    Failed,
    Open,
    PaymentProviderAway,
    Pending,
    Succeeded,
)
from dunwell.platform.resources import Resources

NAME = "sandbox"
# Of the card that pays every checkout.
_METHOD = "•••• 4242"
CHECKOUT_PATH = "/sandbox-provider/checkout"


class SandboxProvider:
    """Stateless beside its database."""

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
            raise PaymentProviderAway("The payment provider knows of no such checkout.")
        if checkout.is_expired(self._resources.clock.now()):
            return Expired()
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
        return Succeeded(
            checkout.transaction_id,
            amount_cents=checkout.amount_cents,
            currency=checkout.currency,
            paid_at=checkout.decided_at,
            method=_METHOD,
        )
    return _OTHERS[checkout.state]


_OTHERS: dict[State, CheckoutState] = {
    State.OPEN: Open(),
    State.PENDING: Pending(),
    State.FAILED: Failed(),
    State.CANCELLED: Cancelled(),
}
