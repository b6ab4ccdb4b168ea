"""The provider's side of the sandbox payment provider: decides checkouts and creates its
notifications."""

from dunwell.adapters.payments.sandbox.checkout import (
    TRANSITIONS,
    CheckoutDecision,
    NotificationDelivery,
    SandboxMovement,
    plan_notifications,
    render_notification,
    sign_notification,
)
from dunwell.adapters.payments.sandbox.provider import find_checkout
from dunwell.adapters.payments.sandbox.store import save_decision, save_return
from dunwell.cases.payments.provider import MovementKind
from dunwell.platform.resources import Resources


async def decide(
    resources: Resources,
    reference: str,
    word: str,
    delivery: NotificationDelivery = NotificationDelivery.NEVER,
) -> None:
    """Press one of the page's buttons: pay, fail, cancel, pending, chargeback."""
    checkout = await find_checkout(resources, reference)
    assert checkout is not None
    state = TRANSITIONS[checkout.state, CheckoutDecision(word)]
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        if word == CheckoutDecision.CHARGE_BACK:
            kind, cents = MovementKind.CHARGED_BACK, checkout.amount_cents
            returned = SandboxMovement(resources.ids.new(now), kind, cents, now)
            assert await save_return(tx, checkout, returned)
        planned = plan_notifications(delivery, now)
        assert await save_decision(tx, checkout, state, planned, now)


def a_notification(
    resources: Resources, reference: str, notification_id: str = "notice-1"
) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a notification signed now."""
    body = render_notification(reference)
    return sign_notification(resources.keys, notification_id, body, resources.clock.now()), body
