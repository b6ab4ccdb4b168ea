"""The provider's side of the sandbox payment provider: decides checkouts and creates its
notifications."""

from dunwell.adapters.payments.sandbox.checkout import (
    TRANSITIONS,
    CheckoutDecision,
    NoticeDelivery,
    plan_notices,
    render_notice,
    sign_notice,
)
from dunwell.adapters.payments.sandbox.provider import find_checkout
from dunwell.adapters.payments.sandbox.store import save_decision
from dunwell.platform.resources import Resources


async def decide(
    resources: Resources, reference: str, word: str, notices: NoticeDelivery = NoticeDelivery.NEVER
) -> None:
    """Press one of the page's buttons: pay, fail, cancel, pending."""
    checkout = await find_checkout(resources, reference)
    assert checkout is not None
    state = TRANSITIONS[checkout.state, CheckoutDecision(word)]
    now = resources.clock.now()
    async with resources.database.connection() as connection:
        planned = plan_notices(notices, now)
        assert await save_decision(connection, checkout, state, planned, now)


def a_notice(
    resources: Resources, reference: str, notice_id: str = "notice-1"
) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a notification signed now."""
    body = render_notice(reference)
    return sign_notice(resources.keys, notice_id, body, resources.clock.now()), body
