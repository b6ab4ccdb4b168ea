"""The sandbox payment provider.

It behaves like an outside provider, but stores its state in our database and moves no money. What
happens to a checkout is decided on its page. `notification_sender` sends the notifications.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.adapters.payments.sandbox.checkout import (
    LIFETIME,
    SandboxCheckout,
    SandboxCheckoutState,
    SandboxMovement,
    parse_checkout_reference,
    render_checkout_reference,
    verify_notification,
)
from dunwell.adapters.payments.sandbox.store import (
    cancel_open_checkout,
    list_sandbox_movements,
    load_checkout,
    save_checkout,
    save_return,
)
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutState,
    CheckoutStatus,
    MoneyMovement,
    MovementKind,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
    Payout,
)
from dunwell.platform.resources import Resources

NAME = "sandbox"
# The card that pays every checkout.
_METHOD = "•••• 4242"
CHECKOUT_PATH = "/sandbox-provider/checkout"
_STATUSES = {
    SandboxCheckoutState.OPEN: CheckoutStatus.OPEN,
    SandboxCheckoutState.PENDING: CheckoutStatus.PENDING,
    SandboxCheckoutState.SUCCEEDED: CheckoutStatus.PAID,
    SandboxCheckoutState.FAILED: CheckoutStatus.FAILED,
    SandboxCheckoutState.CANCELLED: CheckoutStatus.CANCELLED,
}


class SandboxProvider:
    """A `PaymentProvider` whose only state is in the database."""

    name = NAME
    kind = NAME
    moves_money = False
    is_closed = False

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            new_id = self._resources.ids.new(now)
            checkout_id = await save_checkout(connection, new_id, request, now)
            checkout = await load_checkout(connection, request.merchant_id, checkout_id)
        assert checkout is not None, "it was saved"
        reference = render_checkout_reference(request.merchant_id, checkout_id)
        origin = self._resources.settings.public_url
        url = f"{origin}{CHECKOUT_PATH}/{reference}"
        return Checkout(reference, url, checkout.created_at + LIFETIME)

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        checkout = await self._get_checkout(checkout_id)
        async with self._resources.database.connection() as connection:
            await cancel_open_checkout(connection, checkout, self._resources.clock.now())
        state = (await self._get_checkout(checkout_id)).state
        if state is SandboxCheckoutState.SUCCEEDED:
            return CheckoutCancellation.ALREADY_PAID
        if state is SandboxCheckoutState.PENDING:
            return CheckoutCancellation.CANNOT_CANCEL
        return CheckoutCancellation.CANCELLED

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        checkout = await self._get_checkout(checkout_id)
        if checkout.is_expired(self._resources.clock.now()):
            return CheckoutState(CheckoutStatus.EXPIRED)
        if checkout.state is not SandboxCheckoutState.SUCCEEDED:
            return CheckoutState(_STATUSES[checkout.state])
        async with self._resources.database.connection() as connection:
            later_movements = await list_sandbox_movements(
                connection, checkout.merchant_id, checkout.checkout_id
            )
        return CheckoutState(CheckoutStatus.PAID, list_movements(checkout, later_movements))

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        checkout = await self._get_checkout(checkout_id)
        now = self._resources.clock.now()
        new = SandboxMovement(self._resources.ids.new(now), MovementKind.REFUNDED, cents, now)
        async with self._resources.database.transaction() as tx:
            refund_id = await save_return(tx, checkout, new, key)
        if refund_id is None:
            raise PaymentProviderRefused(
                f"Less than this is left of the payment {movement.movement_id}."
            )
        return render_movement_id(refund_id)

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:  # noqa: ARG002
        return ()

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        now = self._resources.clock.now()
        return [verify_notification(self._resources.keys, headers, body, now)]

    async def find_access_problems(self) -> Sequence[str]:
        return ()

    async def _get_checkout(self, checkout_id: str) -> SandboxCheckout:
        checkout = await find_checkout(self._resources, checkout_id)
        if checkout is None:
            raise PaymentProviderUnavailable("The payment provider does not know this checkout.")
        return checkout


async def find_checkout(resources: Resources, reference: str) -> SandboxCheckout | None:
    ids = parse_checkout_reference(reference)
    if ids is None:
        return None
    async with resources.database.connection() as connection:
        return await load_checkout(connection, *ids)


def list_movements(
    checkout: SandboxCheckout, later_movements: Sequence[SandboxMovement]
) -> list[MoneyMovement]:
    """Return all movements of a paid checkout."""
    assert checkout.transaction_id is not None
    assert checkout.decided_at is not None
    paid = MoneyMovement(
        checkout.transaction_id,
        MovementKind.PAID,
        amount_cents=checkout.amount_cents,
        currency=checkout.currency,
        moved_at=checkout.decided_at,
        method=_METHOD,
    )
    return [
        paid,
        *(
            MoneyMovement(
                render_movement_id(movement.movement_id),
                movement.kind,
                amount_cents=movement.amount_cents,
                currency=checkout.currency,
                moved_at=movement.moved_at,
            )
            for movement in later_movements
        ),
    ]


def render_movement_id(movement_id: UUID) -> str:
    return f"sbx_mv_{movement_id.hex}"
